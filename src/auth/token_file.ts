/**
 * Bearer tokens from a file that holds only their hashes. Tokens are 256 random bits, so one round of SHA-256 cannot be
 * reversed. A comparison takes the same time whatever its outcome.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { parse } from "yaml";
import { defined } from "../base/defined.ts";
import { isJsonObject, type Json } from "../base/json.ts";
import { invalid, Problem, ProblemCode } from "../base/problem.ts";
import { timeOf } from "../base/time_of.ts";
import { type AccessRules, callerByRules } from "./access_rules.ts";
import { identityFromClaims } from "./claims.ts";
import type { Authenticator } from "./port.ts";

/** One token of the file. */
export interface TokenEntry {
  subject: string;
  groups: string[];
  /** SHA-256 of the token. */
  hash: Uint8Array;
  /** Epoch ms; absent = never. */
  expiresAt?: number;
}

/** Beginning of every token, so that scanners find leaked ones. */
const TOKEN_PREFIX = "sluice_";
const HASH_PREFIX = "sha256:";

/** Creates a token and its entry in the file. */
export function createToken(
  subject: string,
  groups: string[],
  expiresAt?: number,
): {
  token: string;
  entry: { subject: string; groups?: string[]; hash: string; expiresAt?: string };
} {
  const token = TOKEN_PREFIX + randomBytes(32).toString("base64url");
  return {
    token,
    entry: {
      subject,
      ...(groups.length > 0 && { groups }),
      hash: HASH_PREFIX + hashOf(token).toString("hex"),
      ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
    },
  };
}

/**
 * Reads a token file: YAML or JSON with the single member `tokens`, a list of `{subject, groups, hash, expiresAt}`.
 *
 * @throws {Problem} InvalidArgument that names the entry
 */
export function parseTokenFile(text: string): TokenEntry[] {
  const file: unknown = parse(text);
  const tokens = isJsonObject(file) ? file["tokens"] : undefined;
  if (!Array.isArray(tokens)) throw invalid("the file must hold a list under `tokens`");
  return tokens.map((entry, index) => entryFrom(entry, `tokens[${index}]`));
}

function entryFrom(value: Json, place: string): TokenEntry {
  if (!isJsonObject(value)) throw invalid(`${place} must be an object`);
  const { subject, groups = [], hash, expiresAt } = value;
  if (typeof subject !== "string" || subject === "") throw invalid(`${place}.subject is missing`);
  if (!Array.isArray(groups) || groups.some((group) => typeof group !== "string")) {
    throw invalid(`${place}.groups must be a list of texts`);
  }
  if (typeof hash !== "string" || !/^sha256:[0-9a-f]{64}$/.test(hash)) {
    throw invalid(
      `${place}.hash must be sha256: and 64 hexadecimal digits; "sluice token create" makes it`,
    );
  }
  const expiry = expiresAt === undefined ? undefined : timeOf(String(expiresAt));
  if (expiresAt !== undefined && expiry === undefined) {
    throw invalid(`${place}.expiresAt is not an RFC 3339 time`);
  }
  return {
    subject,
    groups: groups as string[],
    hash: Buffer.from(hash.slice(HASH_PREFIX.length), "hex"),
    ...defined({ expiresAt: expiry }),
  };
}

function hashOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

/** The token of a credential: `Bearer T`, or `T` alone. Undefined for other schemes. */
export function tokenOf(credential: string | undefined): string | undefined {
  if (credential === undefined || credential === "") return undefined;
  const [first = "", ...rest] = credential.split(" ");
  if (rest.length === 0) return first;
  return first.toLowerCase() === "bearer" ? rest.join(" ").trim() : undefined;
}

export interface TokenFileOptions {
  /** Current content of the files. Called for every request, so that changes take effect at once. */
  tokens: () => readonly TokenEntry[];
  rules: () => AccessRules;
  /** The workflow group. @default that of the reference */
  apiGroup?: string;
  /** Epoch ms. */
  now: () => number;
}

/** Accepts the tokens of a file and refuses every other credential, except JWTs. */
export function createTokenFileAuthenticator(options: TokenFileOptions): Authenticator {
  return {
    authenticate(credential) {
      const token = tokenOf(credential);
      // Three parts make a JWT, which another authenticator handles.
      if (token === undefined || token.split(".").length === 3) return Promise.resolve(undefined);
      const hash = hashOf(token);
      let found: TokenEntry | undefined;
      // Intentionally no early end: the time must not tell which entry matched.
      for (const entry of options.tokens()) if (timingSafeEqual(hash, entry.hash)) found = entry;
      if (
        found === undefined || (found.expiresAt !== undefined && found.expiresAt <= options.now())
      ) {
        return Promise.reject(new Problem(ProblemCode.Unauthenticated, "Unauthorized"));
      }
      const identity = identityFromClaims({ sub: found.subject, groups: found.groups });
      return Promise.resolve(callerByRules(identity, options.rules, options.apiGroup));
    },
  };
}
