/** Decides who may call, by the authentication modes of the configuration. */
import process from "node:process";
import { type AccessRules, callersByRules, parseAccessRules } from "../auth/access_rules.ts";
import { createGatekeeper, type Gatekeeper } from "../auth/gatekeeper.ts";
import {
  createKubernetesAuthenticator,
  createKubernetesCallers,
  type KubernetesTokensOptions,
} from "../auth/kubernetes_tokens.ts";
import type { Authenticator, Caller, Identity } from "../auth/port.ts";
import { createSsoAuthenticator } from "../auth/sso.ts";
import { createSsoLogin, type SsoLogin } from "../auth/sso_login.ts";
import { createTokenFileAuthenticator, parseTokenFile } from "../auth/token_file.ts";
import { unavailable } from "../base/problem.ts";
import { KubeClient, KubeError } from "../kubernetes/kube_client.ts";
import { loadKubeConfig } from "../kubernetes/kube_config.ts";
import { systemClock } from "../platform/clock.ts";
import type { Config } from "../platform/config.ts";
import type { Logger } from "../platform/log.ts";
import { ownAccess } from "../platform/own_access.ts";
import { Seldom } from "../platform/seldom.ts";
import { watchFile } from "../platform/watched_file.ts";
import { readSetting } from "./setting.ts";
import type { ServerContext } from "./context.ts";

/** Longest wait for a review, ms. An event takes two, one after the other, and is answered in less than ten seconds. */
const REVIEW_MS = 4_000;

export interface Access {
  gatekeeper: Gatekeeper;
  /** A token can prove who somebody is. */
  takesTokens: boolean;
  /** How people log in at the issuer; undefined where they can't. */
  sso: SsoLogin | undefined;
  /** The rights of an identity that was proved before. */
  callerOf(identity: Identity): Caller;
}

/** Reads the files of tokens and rules now, so that a wrong one ends the start. */
export async function openAccess(context: ServerContext): Promise<Access> {
  const { log } = context;
  const config = { ...context.config, ...ownAccess(context.config) };
  const server = config.authMode.includes("server");
  const rules = accessRules(config, log);
  const reviews = await clusterReviews(config, log);
  const authenticators = createAuthenticators(config, rules, reviews, log);
  const byRules = callersByRules(server, authenticators.length > 0, rules, config.apiGroup);
  return {
    gatekeeper: createGatekeeper({ server, authenticators }),
    takesTokens: authenticators.length > 0,
    sso: ssoLogin(config),
    callerOf: reviews === undefined ? byRules : createKubernetesCallers(reviews, byRules),
  };
}

/** The rules of the access file as they are now; none without a file. */
function accessRules({ accessFile, apiGroup }: Config, log: Logger): () => AccessRules {
  const parse = (text: string) => parseAccessRules(text, apiGroup);
  if (accessFile === "") return () => [];
  const read = () => watchFile(accessFile, parse, systemClock.now, log);
  return readSetting("--access-file", read).current;
}

/** How the cluster is asked about tokens and rights; undefined where it is not. */
async function clusterReviews(
  config: Config,
  log: Logger,
): Promise<KubernetesTokensOptions | undefined> {
  if (!config.authMode.includes("client") || config.executor !== "kubernetes") return undefined;
  const client = new KubeClient(await loadKubeConfig(process.env));
  const seldom = new Seldom(systemClock);
  return {
    async post(path, body) {
      try {
        const signal = AbortSignal.timeout(REVIEW_MS);
        return await client.call({ method: "POST", path, body, signal });
      } catch (cause) {
        if (!(cause instanceof KubeError)) throw cause;
        if (cause.isTransient) {
          throw unavailable(`The cluster can't tell who may do what now: ${cause.message}`);
        }
        if (cause.status !== 403) throw cause;
        if (seldom.ask(path) !== undefined) {
          log.warn(
            { reason: cause.message },
            "the cluster does not let the server ask for reviews",
          );
        }
        throw unavailable(
          `This server can't ask the cluster who may do what: its service account lacks the right to create ${
            path.split("/").at(-1)
          }`,
        );
      }
    },
    now: systemClock.now,
    apiGroup: config.apiGroup,
  };
}

function ssoLogin(config: Config): SsoLogin | undefined {
  if (config.ssoClientId === "") return undefined;
  return createSsoLogin({
    issuer: config.ssoIssuer,
    clientId: config.ssoClientId,
    clientSecret: config.ssoClientSecret,
    scopes: config.ssoScopes,
    redirectUrl: config.ssoRedirectUrl,
  }, systemClock.now);
}

/** What the authentication modes besides `server` accept. */
function createAuthenticators(
  config: Config,
  rules: () => AccessRules,
  reviews: KubernetesTokensOptions | undefined,
  log: Logger,
): Authenticator[] {
  const { now } = systemClock;
  const { apiGroup } = config;
  const authenticators: Authenticator[] = [];
  if (config.authMode.includes("client") && config.tokenFile !== "") {
    const read = () => watchFile(config.tokenFile, parseTokenFile, now, log);
    const tokens = readSetting("--token-file", read).current;
    authenticators.push(createTokenFileAuthenticator({ tokens, rules, now, apiGroup }));
  }
  if (reviews !== undefined) authenticators.push(createKubernetesAuthenticator(reviews));
  if (config.authMode.includes("sso")) {
    authenticators.push(createSsoAuthenticator({
      issuer: config.ssoIssuer,
      audience: [config.ssoAudience, config.ssoClientId].filter((one) => one !== ""),
      jwksUrl: config.ssoJwksUrl,
      rules,
      apiGroup,
      now: systemClock.now,
    }));
  }
  return authenticators;
}
