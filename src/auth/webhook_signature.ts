/**
 * Proofs of webhook senders. Each type has its header and its kind of signature. All comparisons take the same time wherever the
 * texts differ. Signatures with a time are accepted within five minutes.
 */
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { toSentHeader } from "../base/header_text.ts";
import { invalid } from "../base/problem.ts";

const TOLERANCE_MS = 5 * 60_000;

/** A sender as the secret of its namespace describes it. */
export interface WebhookSender {
  type: string;
  secret: string;
  /** For type `hmac`: header with the signature. @default X-Signature */
  header?: string;
  /** For type `hmac`. @default sha256 */
  algorithm?: string;
  /** For type `hmac`: hex or base64. @default hex */
  encoding?: string;
  /** For type `hmac`: text before the signature, for example `sha256=`. */
  prefix?: string;
}

/** The parts of a request that prove its sender. */
export interface WebhookRequest {
  headers: Headers;
  body: Uint8Array;
  /** Epoch ms. */
  now: number;
}

type Verify = (sender: WebhookSender, request: WebhookRequest) => boolean;

/** The header that holds the proof, by type. */
const PROOF_HEADERS: Readonly<Record<string, string>> = {
  github: "x-hub-signature-256",
  gitlab: "x-gitlab-token",
  bitbucket: "x-hook-uuid",
  bitbucketserver: "x-hub-signature",
  stripe: "stripe-signature",
  slack: "x-slack-signature",
  "standard-webhooks": "webhook-signature",
};
const HMAC_HEADER = "x-signature";

const VERIFIERS: Readonly<Record<string, Verify>> = {
  github: ({ secret }, { headers, body }) =>
    same(headers.get("x-hub-signature-256"), `sha256=${hmac(secret, body)}`),
  gitlab: ({ secret }, { headers }) => same(headers.get("x-gitlab-token"), toSentHeader(secret)),
  bitbucket: ({ secret }, { headers }) => same(headers.get("x-hook-uuid"), toSentHeader(secret)),
  bitbucketserver: ({ secret }, { headers, body }) =>
    same(headers.get("x-hub-signature"), `sha256=${hmac(secret, body)}`),
  stripe: ({ secret }, { headers, body, now }) => {
    const parts = (headers.get("stripe-signature") ?? "").split(",").map((part) => part.trim());
    const valuesOf = (name: string) =>
      parts.filter((part) => part.startsWith(`${name}=`)).map((part) =>
        part.slice(name.length + 1)
      );
    const [time = ""] = valuesOf("t");
    const wanted = hmac(secret, `${time}.`, body);
    return isRecent(time, now) && some(valuesOf("v1"), wanted);
  },
  slack: ({ secret }, { headers, body, now }) => {
    const time = headers.get("x-slack-request-timestamp") ?? "";
    const wanted = `v0=${hmac(secret, `v0:${time}:`, body)}`;
    return isRecent(time, now) && same(headers.get("x-slack-signature"), wanted);
  },
  "standard-webhooks": ({ secret }, { headers, body, now }) => {
    const id = headers.get("webhook-id") ?? "";
    const time = headers.get("webhook-timestamp") ?? "";
    const given = (headers.get("webhook-signature") ?? "").split(" ");
    const proofs = standardKeys(secret).map((key) =>
      some(given, `v1,${sign("sha256", key, [`${id}.${time}.`, body]).toString("base64")}`)
    );
    return id !== "" && isRecent(time, now) && proofs.includes(true);
  },
  hmac: (sender, { headers, body }) => {
    const { secret, header = HMAC_HEADER, algorithm = "sha256", encoding = "hex" } = sender;
    const signature = sign(algorithm, secret, [body]);
    const text = signature.toString(encoding === "base64" ? "base64" : "hex");
    return same(headers.get(header), (sender.prefix ?? "") + text);
  },
};

const STANDARD_PREFIX = "whsec_";
const BASE64 = /^[A-Za-z0-9+/_-]{2,}={0,2}$/;

/**
 * What a secret of Standard Webhooks may be the key as: base64 with or without its prefix, or else the text itself, as our own
 * subscriptions use it. Intentionally never what is left of a text that is not base64: that may be an empty key, which
 * everybody has.
 */
function standardKeys(secret: string): Uint8Array[] {
  const isMarked = secret.startsWith(STANDARD_PREFIX);
  const encoded = (isMarked ? secret.slice(STANDARD_PREFIX.length) : secret).trim();
  const keys: Uint8Array[] = BASE64.test(encoded) ? [Buffer.from(encoded, "base64")] : [];
  return isMarked ? keys : [...keys, Buffer.from(secret, "utf8")];
}

const ALGORITHMS = ["sha1", "sha256", "sha384", "sha512"];

/**
 * Checks a sender's description in a secret.
 * @throws {Problem} InvalidArgument that says what is wrong; the secret itself is never in the text
 */
export function checkSender({ type, secret, header, algorithm, encoding }: WebhookSender): void {
  if (!Object.hasOwn(VERIFIERS, type)) {
    throw invalid(`unknown type "${type}"; types are ${Object.keys(VERIFIERS).join(", ")}`);
  }
  // Intentionally unlike the reference, where an empty secret accepts everybody.
  if (typeof secret !== "string" || secret === "") throw invalid("the secret is empty");
  if (type === "standard-webhooks" && standardKeys(secret).length === 0) {
    throw invalid(`the secret has no base64 after ${STANDARD_PREFIX}`);
  }
  if (algorithm !== undefined && !ALGORITHMS.includes(algorithm)) {
    throw invalid(`algorithm is "${algorithm}", expected ${ALGORITHMS.join(", ")}`);
  }
  if (encoding !== undefined && encoding !== "hex" && encoding !== "base64") {
    throw invalid(`encoding is "${encoding}", expected hex or base64`);
  }
  if (header !== undefined && !/^[-!#$%&'*+.^_`|~A-Za-z0-9]+$/.test(header)) {
    throw invalid("header is not the name of a header");
  }
}

/** Tells from the headers alone whether a request may come from the sender: whether it has a proof of that kind. */
export function isSigned({ type, header = HMAC_HEADER }: WebhookSender, headers: Headers): boolean {
  return has(headers, PROOF_HEADERS[type] ?? header);
}

/** Tells whether a request comes from the sender. Requests without a body never do. */
export function isFromSender(sender: WebhookSender, request: WebhookRequest): boolean {
  const verify = Object.hasOwn(VERIFIERS, sender.type) ? VERIFIERS[sender.type] : undefined;
  return request.body.length > 0 && verify !== undefined && verify(sender, request);
}

function has(headers: Headers, name: string): boolean {
  return (headers.get(name) ?? "") !== "";
}

function hmac(secret: string, ...parts: (string | Uint8Array)[]): string {
  return sign("sha256", secret, parts).toString("hex");
}

function sign(
  algorithm: string,
  secret: string | Uint8Array,
  parts: readonly (string | Uint8Array)[],
): Buffer {
  const mac = createHmac(algorithm, secret);
  for (const part of parts) mac.update(part);
  return mac.digest();
}

function same(given: string | null, wanted: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given ?? ""), digest(wanted)) && given !== null;
}

function some(given: readonly string[], wanted: string): boolean {
  return given.map((one) => same(one, wanted)).includes(true);
}

/** @param time epoch seconds as text */
function isRecent(time: string, now: number): boolean {
  return /^\d{1,12}$/.test(time) && Math.abs(now - Number(time) * 1000) <= TOLERANCE_MS;
}
