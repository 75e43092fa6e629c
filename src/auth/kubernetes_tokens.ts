/**
 * Bearer tokens of a Kubernetes cluster. TokenReview says whose they are, SubjectAccessReview what they allow. A bounded number
 * of answers is kept for a few seconds, so that a burst of requests does not become a burst of reviews.
 */
import { BoundedCache } from "../base/bounded_cache.ts";
import { createHash } from "node:crypto";
import { defined } from "../base/defined.ts";
import type { JsonObject } from "../base/json.ts";
import { Problem, ProblemCode } from "../base/problem.ts";
import { identityFromClaims } from "./claims.ts";
import { STANDARD_NAMING } from "../spec/naming.ts";
import type { Access, Authenticator, Caller, Identity } from "./port.ts";
import { tokenOf } from "./token_file.ts";

/** Posts one object to the API server and resolves to its answer. */
export type KubernetesPost = (path: string, body: JsonObject) => Promise<JsonObject>;

export interface KubernetesTokensOptions {
  post: KubernetesPost;
  /** Epoch ms. */
  now: () => number;
  /** The workflow group. @default that of the reference */
  apiGroup?: string;
}

const KEEP_MS = 10_000;
const KEEP_MOST = 10_000;

interface Kept<T> {
  value: Promise<T>;
  until: number;
}

/** Remembers answers for a while, but not failures. */
class ShortMemory<T> {
  readonly #kept = new BoundedCache<string, Kept<T>>(KEEP_MOST);
  readonly #now: () => number;
  constructor(now: () => number) {
    this.#now = now;
  }
  get(key: string, ask: () => Promise<T>): Promise<T> {
    const old = this.#kept.get(key);
    if (old !== undefined && old.until > this.#now()) return old.value;
    const value = ask();
    this.#kept.set(key, { value, until: this.#now() + KEEP_MS });
    value.catch(() => this.#kept.delete(key));
    return value;
  }
}

/** Accepts every bearer token and asks the cluster about it. */
export function createKubernetesAuthenticator(options: KubernetesTokensOptions): Authenticator {
  const callers = new ShortMemory<Caller | undefined>(options.now);
  return {
    async authenticate(credential) {
      const token = tokenOf(credential);
      if (token === undefined) return undefined;
      // Only hashes of tokens are kept in memory for longer than a request.
      const key = createHash("sha256").update(token).digest("base64");
      const caller = await callers.get(key, () => review(options, token));
      if (caller === undefined) throw new Problem(ProblemCode.Unauthenticated, "Unauthorized");
      return caller;
    },
  };
}

/**
 * Makes callers from identities that were checked earlier, such as the sender of an event that is dispatched later or by another
 * replica. They have the rights that the cluster grants, besides those of `others`. The cluster is not asked about an identity
 * with an issuer of its own (single sign-on), nor about one without a subject.
 */
export function createKubernetesCallers(
  options: KubernetesTokensOptions,
  others: (identity: Identity) => Caller,
): (identity: Identity) => Caller {
  const rights = new ShortMemory<boolean>(options.now);
  return (identity) => {
    const { subject, groups = [], issuer } = identity;
    const other = others(identity);
    if (subject === undefined || issuer !== undefined) return other;
    const user = { username: subject, groups };
    return {
      identity,
      apiGroup: groupOf(options),
      may: async (access) =>
        await other.may(access) ||
        await rights.get(
          JSON.stringify([subject, groups, access]),
          () => reviewAccess(options, user, access),
        ),
    };
  };
}

interface ReviewedUser {
  username?: string;
  uid?: string;
  groups?: string[];
  extra?: JsonObject;
}

async function review(
  options: KubernetesTokensOptions,
  token: string,
): Promise<Caller | undefined> {
  const answer = await options.post("/apis/authentication.k8s.io/v1/tokenreviews", {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenReview",
    spec: { token },
  });
  const status = answer["status"] as { authenticated?: boolean; user?: ReviewedUser } | undefined;
  if (status?.authenticated !== true || status.user === undefined) return undefined;
  const user = status.user;
  const identity: Identity = {
    ...identityFromClaims({ sub: user.username ?? "" }),
    ...defined({ groups: user.groups }),
  };
  const rights = new ShortMemory<boolean>(options.now);
  return {
    identity,
    apiGroup: groupOf(options),
    may: (access) => rights.get(JSON.stringify(access), () => reviewAccess(options, user, access)),
  };
}

async function reviewAccess(
  options: KubernetesTokensOptions,
  user: ReviewedUser,
  access: Access,
): Promise<boolean> {
  const [resource = "", subresource] = access.resource.split("/");
  const answer = await options.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    spec: {
      user: user.username ?? "",
      groups: user.groups ?? [],
      ...defined({ uid: user.uid, extra: user.extra }),
      resourceAttributes: {
        verb: access.verb,
        group: access.group ?? groupOf(options),
        resource,
        namespace: access.namespace,
        ...defined({ subresource, name: access.name }),
      },
    },
  });
  return (answer["status"] as { allowed?: boolean } | undefined)?.allowed === true;
}

function groupOf({ apiGroup = STANDARD_NAMING.apiGroup }: KubernetesTokensOptions): string {
  return apiGroup;
}
