/**
 * Login by token. The browser keeps the token in a cookie that scripts cannot read and that no other site's request carries;
 * whatever changes something is refused anyway unless a page of this server asks for it (`http/origin.ts`).
 */
import type { Context, Hono } from "hono";
import type { Gatekeeper } from "../auth/gatekeeper.ts";
import { invalid, Problem } from "../base/problem.ts";
import type { RequestEnv } from "../http/every_request.ts";
import { problemResponse } from "../http/problems.ts";

export interface LoginOptions {
  gatekeeper: Gatekeeper;
  takesTokens: boolean;
}

type LoginContext = Context<{ Bindings: RequestEnv }>;

/** Tokens of issuers with many claims have a few thousand characters; browsers keep cookies up to 4,096. */
export const MAX_TOKEN = 3_800;
const MAX_BODY = 2 * MAX_TOKEN;
/** A body that stalls is not waited for any longer, ms. */
const BODY_TIMEOUT_MS = 10_000;

/** Adds login and logout. */
export function mountLogin(
  app: Hono<{ Bindings: RequestEnv }>,
  { gatekeeper, takesTokens }: LoginOptions,
): void {
  app.post("/login", async (c) => {
    try {
      if (!takesTokens) {
        throw invalid("this server asks nobody to log in, and takes no tokens (see --auth-mode)");
      }
      const credential = await readToken(c.req.raw);
      await gatekeeper([credential]);
      return answer(`authorization=${encodeURIComponent(credential)}${attributes(c)}`);
    } catch (cause) {
      if (cause instanceof Problem) return problemResponse(cause);
      throw cause;
    }
  });
  app.post("/logout", (c) => answer(`authorization=; Max-Age=0${attributes(c)}`));
}

function answer(cookie: string): Response {
  return new Response("{}", {
    headers: {
      "content-type": "application/json",
      "cache-control": "no-store",
      "set-cookie": cookie,
    },
  });
}

/**
 * Without a path, the cookie is valid below the folder of `/login`: the root of the server, also under the prefix of a proxy.
 */
function attributes(c: LoginContext): string {
  return `; HttpOnly; SameSite=Strict${safety(c)}`;
}

/** The attribute that keeps a cookie on encrypted connections, where there are any. */
export function safety(c: LoginContext): string {
  const { headers, url } = c.req.raw;
  const scheme = headers.get("x-forwarded-proto") ?? new URL(url).protocol;
  return scheme.startsWith("https") ? "; Secure" : "";
}

/** @throws {Problem} InvalidArgument */
async function readToken(request: Request): Promise<string> {
  // A form of another site cannot send this type without asking first.
  if (!request.headers.get("content-type")?.startsWith("application/json")) {
    throw invalid('send JSON: {"token": …}');
  }
  const text = await boundedText(request);
  let token: unknown;
  try {
    token = (JSON.parse(text) as { token?: unknown } | null)?.token;
  } catch {
    throw invalid("the body is not JSON");
  }
  const given = typeof token === "string" ? token.trim() : "";
  if (given === "") throw invalid("the token is missing");
  if (given.length > MAX_TOKEN || /[^\x21-\x7e ]/.test(given)) {
    throw invalid(`a token has at most ${MAX_TOKEN} characters, all of them ASCII`);
  }
  return given.includes(" ") ? given : `Bearer ${given}`;
}

/** A body that is not there in time is read as far as it came. */
async function boundedText({ body }: Request): Promise<string> {
  if (body === null) return "";
  const reader = body.getReader();
  const timer = setTimeout(() => void reader.cancel(), BODY_TIMEOUT_MS);
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      text += decoder.decode(part.value, { stream: true });
      if (text.length > MAX_BODY) throw invalid("the body is too long for a token");
    }
  } finally {
    clearTimeout(timer);
  }
  return text;
}
