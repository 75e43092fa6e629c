/**
 * Which pages of a browser may call. A browser sends what a page asks for to any address, also to a server on the same
 * machine that asks for no credential, so what changes something is taken from pages of this server only, unless others
 * are allowed; and a server of this machine answers only to names of this machine, whatever a name server says.
 */
import { invalid, Problem, ProblemCode } from "../base/problem.ts";

export interface OriginRule {
  /** Why a request is refused because of the page that sends it; undefined when it is not. */
  refusal(method: string, headers: Headers): Problem | undefined;
  /** Headers that let the page read the answer; undefined when it may not. */
  grant(headers: Headers): Record<string, string> | undefined;
  /** The answer to a browser's question whether a page may send a request; undefined for other requests. */
  preflight(method: string, headers: Headers): Response | undefined;
}

export interface OriginOptions {
  /** `*`, or origins like `https://console.example.com`. */
  allowed: readonly string[];
  /** The server can only be reached from its own machine. */
  isLocal: boolean;
}

const METHODS = "GET, POST, PUT, DELETE";
const REQUEST_HEADERS = "authorization, content-type, idempotency-key, x-request-id";
const ANSWER_HEADERS =
  "retry-after, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, x-request-id";
/** How long a browser may remember the answer, s. */
const MAX_AGE = "600";
/** Names and addresses by which a machine calls itself; a name server can't give them to others. */
const LOCAL = /^(localhost|[^:/]*\.localhost|[0-9.]+|\[[0-9a-fA-F:.]+\])(:[0-9]+)?$/;

/** Reads the origins of a flag: `*`, or some with commas between them. @throws {Problem} InvalidArgument */
export function parseOrigins(text: string): string[] {
  const origins = text.split(",").map((one) => one.trim()).filter((one) => one !== "");
  for (const origin of origins) {
    if (origin !== "*" && (!URL.canParse(origin) || new URL(origin).origin !== origin)) {
      throw invalid(`"${origin}" is no origin like https://console.example.com`);
    }
  }
  return origins;
}

/** Makes the rule. */
export function createOriginRule({ allowed, isLocal }: OriginOptions): OriginRule {
  const isAllowed = (origin: string) => allowed.includes("*") || allowed.includes(origin);
  function grant(headers: Headers): Record<string, string> | undefined {
    const origin = headers.get("origin");
    if (origin === null || !isAllowed(origin)) return undefined;
    return {
      "access-control-allow-origin": allowed.includes("*") ? "*" : origin,
      "access-control-expose-headers": ANSWER_HEADERS,
      vary: "origin",
    };
  }
  return {
    grant,
    refusal(method, headers) {
      const host = headers.get("host");
      if (isLocal && host !== null && !LOCAL.test(host)) {
        return new Problem(
          ProblemCode.PermissionDenied,
          `this server is of this machine only and not called "${host}"; use localhost or an address`,
          { status: 421 },
        );
      }
      if (method === "GET" || method === "HEAD") return undefined;
      const origin = headers.get("origin");
      if (origin === null || isAllowed(origin)) return undefined;
      const own = [host, headers.get("x-forwarded-host")];
      if (URL.canParse(origin) && own.includes(new URL(origin).host)) return undefined;
      return new Problem(
        ProblemCode.PermissionDenied,
        `pages of ${origin} may not change anything here; --access-control-allow-origin allows them`,
      );
    },
    preflight(method, headers) {
      if (method !== "OPTIONS" || !headers.has("access-control-request-method")) return undefined;
      const granted = grant(headers);
      return granted && new Response(null, {
        status: 204,
        headers: {
          ...granted,
          "access-control-allow-methods": METHODS,
          "access-control-allow-headers": REQUEST_HEADERS,
          "access-control-max-age": MAX_AGE,
        },
      });
    },
  };
}
