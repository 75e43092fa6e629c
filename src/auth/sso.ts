/** OpenID Connect: bearer JWTs, checked by signature (the issuer's published keys), issuer, audience and expiry. */
import { createRemoteJWKSet, customFetch, errors, jwtVerify, type JWTVerifyGetKey } from "jose";
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
  /** Epoch ms. */
  now: () => number;
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
/** Keys are read again after this time; when that fails, as often as this, ms. */
const KEPT_MS = 10 * 60_000;
const RETRY_MS = 30_000;
/** Most bytes of an answer of the provider. */
const MAX_ANSWER_BYTES = 1024 * 1024;

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

async function findKeys({ issuer, jwksUrl, now }: SsoOptions): Promise<JWTVerifyGetKey> {
  if (jwksUrl !== "") return keysAt(jwksUrl, now);
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  try {
    const response = await fetchBounded(url, {
      signal: AbortSignal.timeout(DISCOVERY_TIMEOUT_MS),
    });
    if (!response.ok) throw new Error(`it answered ${response.status}`);
    const document = await response.json() as { jwks_uri?: string };
    if (document.jwks_uri === undefined) throw new Error("no jwks_uri");
    return keysAt(document.jwks_uri, now);
  } catch (cause) {
    throw unavailable(
      `the identity provider's keys cannot be found at ${url}: ${errorText(cause)}`,
    );
  }
}

/** `fetch`, whose answer fails when it is too long. */
async function fetchBounded(url: string, init: RequestInit): Promise<Response> {
  const { body, status, headers } = await fetch(url, init);
  let left = MAX_ANSWER_BYTES;
  const bound = new TransformStream<Uint8Array, Uint8Array>({
    transform(piece, controller) {
      left -= piece.length;
      if (left >= 0) controller.enqueue(piece);
      else controller.error(new Error(`it sent more than ${MAX_ANSWER_BYTES} bytes`));
    },
  });
  return new Response(body?.pipeThrough(bound) ?? null, { status, headers });
}

/** What a token can do about its key: to name another, or an algorithm that no key is for. */
const FAULTS_OF_TOKENS = [
  errors.JWKSNoMatchingKey,
  errors.JWKSMultipleMatchingKeys,
  errors.JOSENotSupported,
];

/**
 * The keys at an address. When they can't be read, that says nothing about the token: those that were read last still count,
 * and without any nobody knows.
 */
function keysAt(url: string, now: () => number): JWTVerifyGetKey {
  const keyOf = createRemoteJWKSet(new URL(url), {
    // Read again here: jose would forget the keys that it has.
    cacheMaxAge: Infinity,
    [customFetch]: fetchBounded,
  });
  let dueAt = 0;
  return async (header, token) => {
    try {
      if (now() >= dueAt) {
        dueAt = now() + RETRY_MS;
        try {
          await keyOf.reload();
          dueAt = now() + KEPT_MS;
        } catch (cause) {
          if (keyOf.jwks() === undefined) throw cause;
        }
      }
      return await keyOf(header, token);
    } catch (cause) {
      if (FAULTS_OF_TOKENS.some((kind) => cause instanceof kind)) throw cause;
      throw unavailable(`the identity provider's keys cannot be read: ${errorText(cause)}`);
    }
  };
}
