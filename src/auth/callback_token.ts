/**
 * Tokens of callback URLs. A token says what it is good for and is signed, so every replica that has the key can check it and
 * none keeps it. Form: `cb1.KEY.CLAIMS.SIGNATURE`.
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { CALLBACK_TOKEN_FORM } from "../base/callback_tokens.ts";
import { invalid, notFound, Problem, ProblemCode } from "../base/problem.ts";
import type { CallbackVerb } from "../spec/callback.ts";

/** A key of at least 32 bytes. The first of a list signs, all of them are accepted. */
export interface CallbackKey {
  /** Names the key in tokens and tells nothing about it. */
  id: string;
  secret: Buffer;
}

/** What a token allows. */
export interface CallbackClaims {
  namespace: string;
  workflow: string;
  uid: string;
  /** Full name of the node that waits, or will wait; without the number of an attempt. */
  node: string;
  verbs: readonly CallbackVerb[];
  /** Epoch s. */
  expiresAt: number;
}

/** Longer texts are no tokens. */
const MAX_LENGTH = 4_096;
const MIN_SECRET_BYTES = 32;
const MAX_KEYS = 32;
const TOKEN = /^(cb1\.([0-9a-f]{8})\.([A-Za-z0-9_-]+))\.([A-Za-z0-9_-]{43})$/;
const LETTERS: Readonly<Record<string, CallbackVerb>> = { r: "resume", s: "stop", h: "heartbeat" };

/** Makes a key of its secret. */
export function callbackKey(secret: Buffer): CallbackKey {
  return { id: createHash("sha256").update("id").update(secret).digest("hex").slice(0, 8), secret };
}

/**
 * Reads a key file: one key per line; blank lines and lines that begin with `#` don't count.
 * @throws {Problem} InvalidArgument that names the line
 */
export function parseCallbackKeys(text: string): CallbackKey[] {
  const keys = text.split("\n").map((line) => line.trim()).flatMap((line, index) => {
    if (line === "" || line.startsWith("#")) return [];
    const secret = Buffer.from(line, "utf8");
    if (secret.length >= MIN_SECRET_BYTES) return [callbackKey(secret)];
    throw invalid(`line ${index + 1}: a key has at least ${MIN_SECRET_BYTES} characters`);
  });
  if (keys.length === 0) throw invalid("no key found: write one on each line, the newest first");
  if (keys.length > MAX_KEYS) throw invalid(`${keys.length} keys: at most ${MAX_KEYS} are allowed`);
  return keys;
}

/** Signs claims. */
export function writeCallbackToken(claims: CallbackClaims, { id, secret }: CallbackKey): string {
  const { namespace, workflow, uid, node, verbs, expiresAt } = claims;
  const letters = Object.keys(LETTERS).filter((one) => verbs.includes(LETTERS[one] ?? "resume"));
  const facts = [namespace, workflow, uid, node, letters.join(""), expiresAt];
  const said = `${CALLBACK_TOKEN_FORM}.${id}.${
    Buffer.from(JSON.stringify(facts)).toString("base64url")
  }`;
  return `${said}.${signatureOf(said, secret)}`;
}

/**
 * What a token allows.
 * @param now epoch ms
 * @throws {Problem} NotFound, with one text for whatever is wrong; status 410 when it was good and has expired
 */
export function readCallbackToken(
  token: string,
  verb: CallbackVerb,
  keys: readonly CallbackKey[],
  now: number,
): CallbackClaims {
  const [, said, id, facts = "", signature] = token.length > MAX_LENGTH
    ? []
    : TOKEN.exec(token) ?? [];
  const key = keys.find((one) => one.id === id);
  if (said === undefined || signature === undefined || key === undefined) throw unknownCallback();
  // As texts: several texts stand for the same bytes, and only one of them is the signature.
  const isSame = timingSafeEqual(
    Buffer.from(signature),
    Buffer.from(signatureOf(said, key.secret)),
  );
  if (!isSame) throw unknownCallback();
  const claims = claimsOf(Buffer.from(facts, "base64url").toString());
  if (!claims.verbs.includes(verb)) throw unknownCallback();
  if (claims.expiresAt * 1_000 <= now) {
    throw new Problem(ProblemCode.FailedPrecondition, "the callback URL has expired", {
      status: 410,
    });
  }
  return claims;
}

/** Whatever is wrong with a token. */
export function unknownCallback(): Problem {
  return notFound("no such callback");
}

function signatureOf(said: string, secret: Buffer): string {
  return createHmac("sha256", secret).update(said).digest("base64url");
}

/** The claims of a token whose signature is right. */
function claimsOf(text: string): CallbackClaims {
  const [namespace, workflow, uid, node, letters, expiresAt] = JSON.parse(text) as [
    ...[string, string, string, string, string, number],
  ];
  const verbs = [...letters].flatMap((one) => LETTERS[one] ?? []);
  return { namespace, workflow, uid, node, verbs, expiresAt };
}
