/**
 * Which web pages may call. A browser sends the requests of a page to any address, including a server that asks for no
 * credential. So only pages of this server may change something, unless others are allowed. A page could also make its own
 * name resolve to our address and so become a page of this server (DNS rebinding). So a server that asks for no credential
 * answers only to names that no stranger can have.
 */
import { invalid, Problem, ProblemCode } from "../base/problem.ts";

export interface SentByPage {
  method: string;
  headers: Headers;
  /** The page's origin, from the headers; null when no page sends it. */
  origin: string | null;
}

export interface OriginRule {
  /** The refusal of a request because of the page that sends it; undefined when it is allowed. */
  refusal(request: SentByPage): Problem | undefined;
  /** Headers that let a page of this origin read the answer; undefined when it may not. */
  grant(origin: string): Record<string, string> | undefined;
  /** The answer to a preflight request; undefined for other requests. */
  preflight(request: SentByPage): Response | undefined;
}

/**
 * The names by which a server may be called. `local`: names of its own machine, from which alone it can be reached. A list:
 * also names without a dot, which belong to the local network, and those of the list, where `*.` stands for any subdomain and
 * `*` for every name.
 */
export type HostRule = "local" | readonly string[];

export interface OriginOptions {
  /** `*`, or origins like `https://console.example.com`. */
  allowed: readonly string[];
  /** Absent: any name. */
  hosts?: HostRule | undefined;
}

const METHODS = "GET, POST, PUT, DELETE";
const REQUEST_HEADERS = "authorization, content-type, idempotency-key, prefer, x-request-id";
const ANSWER_HEADERS =
  "preference-applied, retry-after, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, x-request-id, warning";
/** How long a browser may remember the answer, s. */
const MAX_AGE = "600";
/** Names and addresses by which a machine calls itself, which no name server can give to others. */
const LOCAL = /^(localhost|[^:/]*\.localhost|[0-9.]+|\[[0-9a-fA-F:.]+\])(:[0-9]+)?$/;

/** Reads the origins of a flag: `*`, or a list with commas. @throws {Problem} InvalidArgument */
export function parseOrigins(text: string): string[] {
  const origins = text.split(",").map((one) => one.trim()).filter((one) => one !== "");
  for (const origin of origins) {
    if (origin !== "*" && (!URL.canParse(origin) || new URL(origin).origin !== origin)) {
      throw invalid(`"${origin}" is not an origin like https://console.example.com`);
    }
  }
  return origins;
}

/** Names without a dot, which only the local network gives. */
const SINGLE = /^[^.:/]+(:[0-9]+)?$/;

/** The refusal of a name by which the server must not be called; undefined for others. */
function hostRefusal(host: string, rule: HostRule): Problem | undefined {
  if (LOCAL.test(host)) return undefined;
  if (rule !== "local") {
    const name = host.replace(/:[0-9]+$/, "").replace(/\.$/, "").toLowerCase();
    const isNamed = rule.some((one) => {
      const wanted = one.toLowerCase();
      return wanted === "*" || wanted === name ||
        (wanted.startsWith("*.") && name.endsWith(wanted.slice(1)));
    });
    if (isNamed || SINGLE.test(host)) return undefined;
  }
  return new Problem(
    ProblemCode.PermissionDenied,
    rule === "local"
      ? `this server serves only its own machine and does not answer to the name "${host}"; use localhost or an address`
      : `this server asks for no credential and does not answer to the name "${host}"; use an address, or start it ` +
        `with --allowed-hosts ${host.replace(/:[0-9]+$/, "")}`,
    { status: 421 },
  );
}

/** Creates the rule. */
export function createOriginRule({ allowed, hosts }: OriginOptions): OriginRule {
  const isAllowed = (origin: string) => allowed.includes("*") || allowed.includes(origin);
  function grant(origin: string): Record<string, string> | undefined {
    if (!isAllowed(origin)) return undefined;
    return {
      "access-control-allow-origin": allowed.includes("*") ? "*" : origin,
      "access-control-expose-headers": ANSWER_HEADERS,
      vary: "origin",
    };
  }
  return {
    grant,
    refusal({ method, headers, origin }) {
      const host = headers.get("host");
      if (hosts !== undefined && host !== null) {
        const refused = hostRefusal(host, hosts);
        if (refused !== undefined) return refused;
      }
      if (method === "GET" || method === "HEAD") return undefined;
      if (origin === null || isAllowed(origin)) return undefined;
      const own = [host, headers.get("x-forwarded-host")];
      if (URL.canParse(origin) && own.includes(new URL(origin).host)) return undefined;
      return new Problem(
        ProblemCode.PermissionDenied,
        `pages of ${origin} may not change anything here; --access-control-allow-origin allows them`,
      );
    },
    preflight({ method, headers, origin }) {
      if (method !== "OPTIONS" || !headers.has("access-control-request-method")) return undefined;
      const granted = origin === null ? undefined : grant(origin);
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

/** Headers of answers to callbacks: whoever has a callback URL needs no other credential, so any page may use it. */
export const CALLBACK_GRANT: Readonly<Record<string, string>> = {
  "access-control-allow-origin": "*",
  "access-control-expose-headers": ANSWER_HEADERS,
};

/** The answer to a preflight request for a callback URL; undefined for other requests. */
export function callbackPreflight({ method, headers }: Request): Response | undefined {
  if (method !== "OPTIONS" || !headers.has("access-control-request-method")) return undefined;
  return new Response(null, {
    status: 204,
    headers: {
      ...CALLBACK_GRANT,
      "access-control-allow-methods": "POST",
      "access-control-allow-headers": "content-type, idempotency-key, x-request-id",
      "access-control-max-age": MAX_AGE,
    },
  });
}
