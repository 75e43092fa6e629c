/** OpenID Connect: bearer JWTs, checked by signature (the issuer's published keys), issuer, audience and expiry. */
import { createRemoteJWKSet, errors, jwtVerify, type JWTVerifyGetKey } from "jose";
import { errorText } from "../base/error_text.ts";
import type { JsonObject } from "../base/json.ts";
import { Problem, ProblemCode, unavailable } from "../base/problem.ts";
import { type AccessRules, callerByRules } from "./access_rules.ts";
import { identityFromClaims } from "./claims.ts";
import type { Authenticator } from "./port.ts";
import { tokenOf } from "./token_file.ts";

export interface SsoOptions {
  /** `iss` of accepted tokens. */
  issuer: string;
  /** `aud` of accepted tokens. */
  audience: string | string[];
  /** Where the keys are; "" asks the issuer's discovery document. */
  jwksUrl: string;
  rules: () => AccessRules;
  /** The workflow group. @default that of the reference */
  apiGroup?: string;
}

/** Asymmetric algorithms only: a shared secret would let every verifier sign. */
const ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
];
const DISCOVERY_TIMEOUT_MS = 5_000;

/** Accepts JWTs and leaves other credentials to others. The keys are fetched for the first token and kept. */
export function createSsoAuthenticator(options: SsoOptions): Authenticator {
  let keys: Promise<JWTVerifyGetKey> | undefined;
  const getKeys = () => {
    keys ??= findKeys(options).catch((error) => {
      keys = undefined;
      throw error;
    });
    return keys;
  };
  return {
    async authenticate(credential) {
      const token = tokenOf(credential);
      if (token === undefined || token.split(".").length !== 3) return undefined;
      const keyOf = await getKeys();
      try {
        const { payload } = await jwtVerify(token, keyOf, {
          issuer: options.issuer,
          audience: options.audience,
          algorithms: ALGORITHMS,
          requiredClaims: ["sub", "exp"],
          clockTolerance: 30,
        });
        const identity = identityFromClaims(payload as JsonObject);
        return callerByRules(identity, options.rules, options.apiGroup);
      } catch (error) {
        if (error instanceof Problem) throw error;
        // jose's texts name the failed check, never the token.
        const reason = error instanceof errors.JOSEError ? error.message : "not a valid token";
        throw new Problem(ProblemCode.Unauthenticated, `failed to validate claims: ${reason}`);
      }
    },
  };
}

async function findKeys({ issuer, jwksUrl }: SsoOptions): Promise<JWTVerifyGetKey> {
  if (jwksUrl !== "") return keysAt(jwksUrl);
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(DISCOVERY_TIMEOUT_MS) });
    const document = await response.json() as { jwks_uri?: string };
    if (document.jwks_uri === undefined) throw new Error("no jwks_uri");
    return keysAt(document.jwks_uri);
  } catch (cause) {
    throw unavailable(
      `the identity provider's keys cannot be found at ${url}: ${errorText(cause)}`,
    );
  }
}

/** What a token can do about its key: to name another, or an algorithm that no key is for. */
const FAULTS_OF_TOKENS = [
  errors.JWKSNoMatchingKey,
  errors.JWKSMultipleMatchingKeys,
  errors.JOSENotSupported,
];

/** The keys at an address. When they can't be read, that says nothing about the token. */
function keysAt(url: string): JWTVerifyGetKey {
  const keyOf = createRemoteJWKSet(new URL(url));
  return async (header, token) => {
    try {
      return await keyOf(header, token);
    } catch (cause) {
      if (FAULTS_OF_TOKENS.some((kind) => cause instanceof kind)) throw cause;
      throw unavailable(`the identity provider's keys cannot be read: ${errorText(cause)}`);
    }
  };
}
