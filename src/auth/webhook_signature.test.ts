import { createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { checkSender, isFromSender, type WebhookSender } from "./webhook_signature.ts";

const NOW = 1_700_000_000_000;
const TIME = String(NOW / 1000);
const BODY = '{"a":"ä"}';
const hex = (text: string, key = "shh", algorithm = "sha256") =>
  createHmac(algorithm, key).update(text).digest("hex");
const base64 = (text: string, key: string | Uint8Array, algorithm = "sha256") =>
  createHmac(algorithm, key).update(text).digest("base64");

function proves(
  sender: Partial<WebhookSender>,
  headers: Record<string, string>,
  body = BODY,
): boolean {
  return isFromSender({ type: "", secret: "shh", ...sender }, {
    headers: new Headers(headers),
    body: new TextEncoder().encode(body),
    now: NOW,
  });
}

const KEY = Buffer.from("a secret of some length");
const PROOFS: [string, Partial<WebhookSender>, Record<string, string>, signature: string][] = [
  ["github", {}, {
    "x-github-event": "push",
    "x-hub-signature-256": `sha256=${hex(BODY)}`,
  }, "x-hub-signature-256"],
  ["gitlab", {}, { "x-gitlab-event": "Push Hook", "x-gitlab-token": "shh" }, "x-gitlab-token"],
  ["bitbucket", {}, { "x-event-key": "repo:push", "x-hook-uuid": "shh" }, "x-hook-uuid"],
  ["bitbucketserver", {}, {
    "x-event-key": "pr:modified",
    "x-hub-signature": `sha256=${hex(BODY)}`,
  }, "x-hub-signature"],
  ["stripe", {}, {
    "stripe-signature": `t=${TIME},v1=00,v1=${hex(`${TIME}.${BODY}`)}`,
  }, "stripe-signature"],
  ["slack", {}, {
    "x-slack-request-timestamp": TIME,
    "x-slack-signature": `v0=${hex(`v0:${TIME}:${BODY}`)}`,
  }, "x-slack-signature"],
  ["standard-webhooks", { secret: `whsec_${KEY.toString("base64")}` }, {
    "webhook-id": "msg_1",
    "webhook-timestamp": TIME,
    "webhook-signature": `v1,xx v1,${base64(`msg_1.${TIME}.${BODY}`, KEY)}`,
  }, "webhook-signature"],
  ["hmac", { header: "X-Proof", algorithm: "sha512", encoding: "base64", prefix: "s=" }, {
    "x-proof": `s=${base64(BODY, "shh", "sha512")}`,
  }, "x-proof"],
];

describe("isFromSender()", () => {
  test.each(PROOFS)("%s", (type, sender, headers, signature) => {
    const own = { ...sender, type };
    expect(proves(own, headers)).toBe(true);
    expect(proves({ ...own, secret: "c29tZXRoaW5nIGVsc2U=" }, headers)).toBe(false);
    const { [signature]: _, ...unsigned } = headers;
    expect(proves(own, unsigned)).toBe(false);
    expect(proves(own, headers, "")).toBe(false);
    if (type !== "gitlab" && type !== "bitbucket") {
      expect(proves(own, headers, `${BODY} `)).toBe(false);
    }
  });

  test.each<[secret: string, key: string, isProof: boolean]>([
    ["whsec_", "", false],
    ["whsec_?!", "", false],
    ["whsec_c2hoaA", "", false],
    ["?!", "", false],
    ["whsec_c2hoaA==", "shhh", true],
    ["c2hoaA==", "shhh", true],
    ["whsec_c2hoaA\n", "shhh", true],
    ["a plain text", "a plain text", true],
    ["plain-text", "plain-text", true],
    ["whsec_c2hoaA", "whsec_c2hoaA", false],
  ])("the secret %j of Standard Webhooks and the key %j: %j", (secret, key, isProof) => {
    const headers = {
      "webhook-id": "msg_1",
      "webhook-timestamp": TIME,
      "webhook-signature": `v1,${base64(`msg_1.${TIME}.${BODY}`, key)}`,
    };
    expect(proves({ type: "standard-webhooks", secret }, headers)).toBe(isProof);
  });

  test("a secret beyond ASCII is sent as UTF-8", () => {
    const sender = { type: "gitlab", secret: "gehe\u00efm" };
    const headers = { "x-gitlab-event": "Push Hook", "x-gitlab-token": "gehe\u00c3\u00afm" };
    expect(proves(sender, headers)).toBe(true);
  });

  test("what an event is called does not matter: senders get new ones", () => {
    const token = { "x-gitlab-token": "shh" };
    expect(proves({ type: "gitlab" }, { "x-gitlab-event": "Emoji Hook", ...token })).toBe(true);
    expect(proves({ type: "gitlab" }, token)).toBe(true);
    expect(proves({ type: "github" }, { "x-hub-signature-256": `sha256=${hex(BODY)}` })).toBe(true);
  });

  test("an old signature is refused", () => {
    const old = String(NOW / 1000 - 301);
    expect(proves({ type: "slack" }, {
      "x-slack-request-timestamp": old,
      "x-slack-signature": `v0=${hex(`v0:${old}:${BODY}`)}`,
    })).toBe(false);
  });
});

test("checkSender() says what is wrong and never the secret", () => {
  expect(() => checkSender({ type: "git", secret: "shh" })).toThrow('unknown type "git"');
  expect(() => checkSender({ type: "constructor", secret: "shh" })).toThrow("unknown type");
  expect(() => checkSender({ type: "github", secret: "" })).toThrow("empty");
  expect(() => checkSender({ type: "standard-webhooks", secret: "whsec_" })).toThrow("no base64");
  expect(() => checkSender({ type: "standard-webhooks", secret: "whsec_s\u00e9cr\u00e9t" }))
    .toThrow(
      /^the secret has no base64 after whsec_$/,
    );
  expect(() => checkSender({ type: "hmac", secret: "shh", algorithm: "md5" })).toThrow("md5");
  expect(() => checkSender({ type: "hmac", secret: "shh", encoding: "utf8" })).toThrow("utf8");
  expect(() => checkSender({ type: "hmac", secret: "shh", header: "a b" })).toThrow("header");
});
