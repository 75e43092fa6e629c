import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { withoutCallbackTokens } from "../base/callback_tokens.ts";
import { Problem } from "../base/problem.ts";
import {
  type CallbackClaims,
  callbackKey,
  parseCallbackKeys,
  readCallbackToken,
  writeCallbackToken,
} from "./callback_token.ts";

const NOW = Date.UTC(2026, 0, 1);
const KEY = callbackKey(Buffer.alloc(32, 7));
const OTHER = callbackKey(Buffer.alloc(32, 8));
const CLAIMS: CallbackClaims = {
  namespace: "ns",
  workflow: "wf",
  uid: "3f1c0000-0000-4000-8000-000000000000",
  node: "wf[1].wait",
  verbs: ["resume"],
  expiresAt: NOW / 1_000 + 60,
};
const TOKEN = writeCallbackToken(CLAIMS, KEY);

/** Whether a text is refused as one that nobody knows. */
function isUnknown(token: string, keys = [KEY], verb: "resume" | "stop" = "resume"): boolean {
  try {
    readCallbackToken(token, verb, keys, NOW);
    return false;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return error.status === 404 && error.message === "no such callback";
  }
}

test("a token says what it was made for, whatever the order of the keys", () => {
  expect(readCallbackToken(TOKEN, "resume", [KEY], NOW)).toEqual(CLAIMS);
  expect(readCallbackToken(TOKEN, "resume", [OTHER, KEY], NOW)).toEqual(CLAIMS);
});

test("after its time it is told so, but only if it was good", () => {
  const late = NOW + 60_000;
  expect(() => readCallbackToken(TOKEN, "resume", [KEY], late))
    .toThrow(expect.objectContaining({ status: 410 }));
  expect(() => readCallbackToken(TOKEN, "resume", [OTHER], late))
    .toThrow(expect.objectContaining({ status: 404 }));
});

test("another verb, another key, no key, and a text that is too long are all the same", () => {
  expect(isUnknown(TOKEN, [KEY], "stop")).toBe(true);
  expect(isUnknown(TOKEN, [OTHER])).toBe(true);
  expect(isUnknown(TOKEN, [])).toBe(true);
  const long = writeCallbackToken({ ...CLAIMS, node: "x".repeat(5_000) }, KEY);
  expect(isUnknown(long)).toBe(true);
});

test("none of 100,000 guesses is accepted", { timeout: 120_000 }, () => {
  const neighbour = writeCallbackToken({ ...CLAIMS, node: "wf[1].other" }, KEY);
  const ours = TOKEN.split(".");
  const theirs = neighbour.split(".");
  const accepted: string[] = [];
  // To collect the stack of each refusal would be most of the work.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  let guesses = 0;
  const guess = (token: string) => {
    guesses++;
    if (token !== TOKEN && token !== neighbour && !isUnknown(token)) accepted.push(token);
  };
  // Every bit of every character, of both.
  for (const token of [TOKEN, neighbour]) {
    for (let at = 0; at < token.length; at++) {
      for (let bit = 0; bit < 8; bit++) {
        const flipped = String.fromCharCode(token.charCodeAt(at) ^ (1 << bit));
        guess(token.slice(0, at) + flipped + token.slice(at + 1));
      }
      guess(token.slice(0, at) + token.slice(at + 1));
      guess(token.slice(0, at));
    }
  }
  // Parts of one with parts of the other.
  for (let mask = 0; mask < 16; mask++) {
    guess(ours.map((part, at) => (mask >> at) & 1 ? theirs[at] : part).join("."));
  }
  // Other claims with a signature that was right for these.
  for (
    const change of [{ workflow: "w2" }, { uid: "u" }, { expiresAt: 2 ** 40 }, { namespace: "a" }]
  ) {
    const facts = writeCallbackToken({ ...CLAIMS, ...change }, OTHER).split(".")[2];
    guess([ours[0], ours[1], facts, ours[3]].join("."));
  }
  while (guesses < 100_000) {
    const signature = randomBytes(32).toString("base64url");
    const facts = guesses % 2 === 0 ? ours[2] : randomBytes(60).toString("base64url");
    guess([ours[0], ours[1], facts, signature].join("."));
  }
  Error.stackTraceLimit = stackTraceLimit;
  expect(accepted).toEqual([]);
  expect(guesses).toBeGreaterThanOrEqual(100_000);
});

test("a key file has one key per line, the newest first", () => {
  const [a, b] = ["a".repeat(32), "b".repeat(40)];
  const keys = parseCallbackKeys(`# ours\n${a}\n\n${b}\n`);
  expect(keys.map(({ secret }) => secret.toString())).toEqual([a, b]);
  expect(keys[0]?.id).toMatch(/^[0-9a-f]{8}$/);
  expect(() => parseCallbackKeys(`${a}\nshort\n`)).toThrow(
    "line 2: a key has at least 32 characters",
  );
  expect(() => parseCallbackKeys("\n# none\n")).toThrow("no key found");
  expect(() => parseCallbackKeys(`${a}\n`.repeat(33))).toThrow("33 keys: at most 32");
});

test("what is written for others to read has no token", () => {
  const text = `POST http://x/callback/resume/${TOKEN}?a: 500`;
  expect(withoutCallbackTokens(text)).toBe("POST http://x/callback/resume/callback:masked?a: 500");
  expect(withoutCallbackTokens("cb1. is no token")).toBe("cb1. is no token");
});
