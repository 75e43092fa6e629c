/**
 * Callback URLs: tokens that were damaged, put together from parts of others, or made up, with any body, as any form, by any
 * method. Only a token as it was made is good, whatever is wrong with another has one answer, and a body that is no good
 * changes nothing. Also texts that look like tokens, marks and keys, where these are read.
 */
import fc from "fast-check";
import { parseCallbackKeys } from "../../../src/auth/callback_token.ts";
import { withoutCallbackTokens } from "../../../src/base/callback_tokens.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../src/base/json.ts";
import { Problem } from "../../../src/base/problem.ts";
import { keyLine, parseKeyLog } from "../../../src/service/callbacks/key_log.ts";
import { CALLBACK_VERBS, replaceMarks, writeMark } from "../../../src/spec/callback.ts";
import { type Instance, startInstance } from "../../support/api_server.ts";
import { type Damage, damage, damaged } from "../grammar/damage.ts";
import { jsonValue, shortText } from "../grammar/texts.ts";
import { type FuzzKind, Undeclared } from "../kind.ts";

type Verb = typeof CALLBACK_VERBS[number];

type Token =
  /** As it was made, for this verb or for all. */
  | { type: "good"; of: Verb | "token" }
  /** A part of one that was made for each dot. */
  | { type: "mixed"; of: (Verb | "token")[]; from: ("one" | "other")[] }
  | { type: "damaged"; of: Verb | "token"; how: Damage }
  | { type: "text"; text: string };

type Input =
  | {
    type: "request";
    method: "GET" | "HEAD" | "POST" | "PUT" | "OPTIONS";
    verb: string;
    token: Token;
    body: string;
    contentType: string;
    accept: string;
  }
  | { type: "text"; text: string };

const OUTPUTS = ["o", "p"];
/** Statuses that a callback may have. */
const DECLARED = new Set([200, 204, 400, 404, 405, 409, 410, 413, 415, 503]);
/** Also those of paths that are no callbacks: a path with an empty part leads to the one without. */
const UNKNOWN = new Set([404, 405, 307]);

const form = fc.constantFrom<Verb | "token">(...CALLBACK_VERBS, "token");
const token: fc.Arbitrary<Token> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ type: fc.constant("good" as const), of: form }) },
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant("mixed" as const),
      of: fc.array(form, { minLength: 4, maxLength: 4 }),
      from: fc.array(fc.constantFrom("one" as const, "other" as const), {
        minLength: 4,
        maxLength: 4,
      }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ type: fc.constant("damaged" as const), of: form, how: damage }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant("text" as const), text: shortText }) },
);
const outputs = fc.oneof(
  fc.dictionary(fc.constantFrom(...OUTPUTS, ...OUTPUTS, "q", "__proto__"), jsonValue, {
    maxKeys: 3,
  }),
  jsonValue,
);
const body = fc.oneof(
  fc.constant(""),
  outputs.map((outputs) => JSON.stringify({ outputs })),
  jsonValue.map((message) => JSON.stringify({ message })),
  fc.string({ maxLength: 20 }).map((message) => JSON.stringify({ message })),
  jsonValue.map((value) => JSON.stringify(value)),
  shortText,
);
const text = fc.tuple(
  fc.constantFrom("", "callback:resume(", "cb1.", '{"key":"', "#", "x".repeat(32)),
  fc.constantFrom("", "u/", "00000000.", `${"A".repeat(43)}","from":`, "\n"),
  fc.oneof(shortText, fc.string({ maxLength: 60 })),
  fc.constantFrom("", ";9;", `;9;${"0".repeat(32)})`, `.${"A".repeat(43)}`, "}\n", "%zz"),
).map((parts) => parts.join(""));

export const CALLBACK: FuzzKind<Input> = {
  inputs: fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        type: fc.constant("request" as const),
        method: fc.constantFrom("POST" as const, "POST", "POST", "GET", "HEAD", "PUT", "OPTIONS"),
        verb: fc.oneof(
          { weight: 9, arbitrary: fc.constantFrom<string>(...CALLBACK_VERBS) },
          { weight: 1, arbitrary: shortText },
        ),
        token,
        body,
        contentType: fc.constantFrom(
          "application/json",
          "application/x-www-form-urlencoded",
          "text/plain",
          "",
        ),
        accept: fc.constantFrom("*/*", "text/html"),
      }),
    },
    { weight: 1, arbitrary: fc.record({ type: fc.constant("text" as const), text }) },
  ),
  maxBlockMs: 250,
  outcomes: ["accepted", "shown", "refused", "unknown", "read"],
  async open() {
    const instance = await startInstance({
      gatekeeper: { server: true, authenticators: [] },
      executors: [],
    });
    const place = new Place(instance);
    return { run: (input) => input.type === "text" ? readText(input.text) : place.ask(input) };
  },
};

interface Waiting {
  name: string;
  /** Tokens of each form, of two steps that wait. */
  tokens: Record<"one" | "other", Record<Verb | "token", string>>;
}

class Place {
  readonly #instance: Instance;
  #waiting: Promise<Waiting> | undefined;
  #count = 0;

  constructor(instance: Instance) {
    this.#instance = instance;
  }

  async ask(input: Input & { type: "request" }): Promise<string> {
    const { name, tokens } = await (this.#waiting ??= this.#begin());
    const { method, verb, contentType, accept } = input;
    const sent = tokenOf(input.token, tokens);
    const path = `/callback/${
      [verb, sent].map((one) => encodeURIComponent(one.toWellFormed())).join("/")
    }`;
    const isRead = method === "POST" || method === "PUT";
    const response = await this.#fetch(method, path, isRead ? input.body : undefined, {
      accept,
      ...(contentType !== "" && { "content-type": contentType }),
    });
    const { status } = response;
    const said = await response.text();
    if (!DECLARED.has(status) && !UNKNOWN.has(status)) {
      throw new Undeclared(`answered ${status}: ${said.slice(0, 300)}`);
    }
    const good = Object.values(tokens).flatMap((of) => [of[verb as Verb], of.token]);
    const isGood = CALLBACK_VERBS.some((one) => one === verb) && good.includes(sent);
    if (method === "OPTIONS") return "preflight";
    if (!isGood && !UNKNOWN.has(status)) {
      throw new Undeclared(`a wrong token got ${status}: ${said.slice(0, 300)}`);
    }
    if (!isGood) return "unknown";
    if (method === "POST" && status === 200 && verb !== "heartbeat") {
      this.#waiting = undefined;
      return "accepted";
    }
    const left = await this.#waitingSteps(name);
    if (left !== 2) throw new Undeclared(`${status} for ${method}, but ${left} steps wait`);
    return status === 200 ? "shown" : "refused";
  }

  async #begin(): Promise<Waiting> {
    const name = `w${this.#count++}`;
    const supplied = OUTPUTS.map((name) => ({ name, valueFrom: { supplied: {}, default: "" } }));
    await this.#api("POST", "", {
      workflow: {
        metadata: { name },
        spec: {
          entrypoint: "main",
          templates: [
            {
              name: "main",
              steps: [[{ name: "one", template: "wait" }, { name: "other", template: "wait" }]],
            },
            { name: "wait", suspend: { callback: {} }, outputs: { parameters: supplied } },
          ],
        },
      },
    });
    while (await this.#waitingSteps(name) < 2) await new Promise((go) => setTimeout(go, 1));
    const tokensOf = async (step: string) => {
      const { items } = await this.#api("POST", `/${name}/callbacks`, {
        nodeFieldSelector: `displayName=${step}`,
      });
      const [item] = items as unknown as Record<Verb | "token", string>[];
      const entries = Object.entries(item ?? {}).map((
        [form, url],
      ) => [form, url.split("/").at(-1)]);
      return Object.fromEntries(entries) as Record<Verb | "token", string>;
    };
    return { name, tokens: { one: await tokensOf("one"), other: await tokensOf("other") } };
  }

  async #waitingSteps(name: string): Promise<number> {
    const { status } = await this.#api("GET", `/${name}`);
    const nodes = isJsonObject(status) && isJsonObject(status.nodes) ? status.nodes : {};
    return Object.values(nodes).filter((node) =>
      isJsonObject(node) && node.type === "Suspend" && node.phase === "Running"
    ).length;
  }

  async #api(method: string, path: string, body?: Json): Promise<JsonObject> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const response = await this.#fetch(method, `/api/v1/workflows/default${path}`, text);
    if (response.status !== 200) throw new Error(`${method} ${path}: ${await response.text()}`);
    return await response.json() as JsonObject;
  }

  #fetch(method: string, path: string, body?: string, headers: Record<string, string> = {}) {
    const init = { method, headers, ...(body !== undefined && { body }) };
    return Promise.resolve(this.#instance.fetch(new Request(`http://localhost${path}`, init)));
  }
}

function tokenOf(token: Token, { one, other }: Waiting["tokens"]): string {
  switch (token.type) {
    case "good":
      return one[token.of];
    case "mixed": {
      const parts = token.of.map((form, at) =>
        (token.from[at] === "one" ? one : other)[form].split(".")[at] ?? ""
      );
      return parts.join(".");
    }
    case "damaged": {
      const [form, key, claims = "", signature] = one[token.of].split(".");
      const text = Buffer.from(claims, "base64url").toString();
      const said = Buffer.from(damaged(text, token.how) ?? "").toString("base64url");
      return token.how.type === "member"
        ? [form, key, said, signature].join(".")
        : damaged(one[token.of], token.how) ?? "";
    }
    case "text":
      return token.text;
  }
}

/** Wherever such texts are read, what is no good stays as it is or is refused in words. */
function readText(text: string): string {
  withoutCallbackTokens(text);
  replaceMarks(text, (mark, found) => {
    const { seal: _, ...claims } = mark;
    if (writeMark(claims, "secret") === found) throw new Undeclared(`a made-up mark: ${found}`);
    return found;
  });
  for (const line of parseKeyLog(text)) parseKeyLog(keyLine(line));
  try {
    parseCallbackKeys(text);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
  }
  return "read";
}
