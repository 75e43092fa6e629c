/**
 * Login through an identity provider. The paths are the reference's, so an application that is registered with a provider for it
 * needs no change.
 */
import type { Context, Hono } from "hono";
import { getCookie } from "hono/cookie";
import type { Gatekeeper } from "../auth/gatekeeper.ts";
import type { SsoFailure, SsoLogin } from "../auth/sso_login.ts";
import { Problem, ProblemCode } from "../base/problem.ts";
import type { RequestEnv } from "../http/every_request.ts";
import { problemResponse } from "../http/problems.ts";
import type { Logger } from "../platform/log.ts";
import { MAX_TOKEN, safety } from "./login.ts";

export interface SsoPagesOptions {
  gatekeeper: Gatekeeper;
  /** Absent: people log in with tokens only. */
  sso?: SsoLogin | undefined;
  log: Logger;
}

type SsoContext = Context<{ Bindings: RequestEnv }>;

const REDIRECT = "/oauth2/redirect";
const CALLBACK = "/oauth2/callback";
/** What the browser keeps while the visitor is at the provider; sent to paths below `/oauth2` only. */
const ATTEMPT = "sluice-sso";
const ATTEMPT_S = 600;
const MAX_RETURN = 1_500;
/** From the paths of this file to the root. */
const ROOT = "..";

/** Adds the way to the provider and back. */
export function mountSso(app: Hono<{ Bindings: RequestEnv }>, options: SsoPagesOptions): void {
  app.get(REDIRECT, (c) => begin(c, options));
  app.get(CALLBACK, (c) => finish(c, options));
}

async function begin(c: SsoContext, { sso, log }: SsoPagesOptions): Promise<Response> {
  if (sso === undefined) return problemResponse(notConfigured());
  const returnTo = pageOf(c.req.query("redirect"));
  try {
    const { address, attempt } = await sso.begin(returnTo);
    return moved(address, [
      `${ATTEMPT}=${attempt}; Max-Age=${ATTEMPT_S}${attemptSafety(c, sso)}`,
    ]);
  } catch (error) {
    return moved(failurePage(log, error, returnTo));
  }
}

async function finish(
  c: SsoContext,
  { sso, gatekeeper, log }: SsoPagesOptions,
): Promise<Response> {
  if (sso === undefined) return problemResponse(notConfigured());
  const attempt = getCookie(c, ATTEMPT);
  const forget = `${ATTEMPT}=; Max-Age=0${attemptSafety(c, sso)}`;
  try {
    const { token, expiresAt, returnTo } = await sso.finish(c.env.target.query, attempt);
    const credential = `Bearer ${token}`;
    await accepted(gatekeeper, credential);
    const value = encodeURIComponent(credential);
    if (value.length > MAX_TOKEN) throw failureOf("too-long", `${value.length} characters`);
    const path = `; Path=${sso.cookiePath}; Expires=${new Date(expiresAt).toUTCString()}`;
    const kept = `authorization=${value}${path}; HttpOnly; SameSite=Strict${safety(c)}`;
    return moved(`${ROOT}${pageOf(returnTo)}`, [forget, kept]);
  } catch (error) {
    return moved(failurePage(log, error, pageOf(sso.returnOf(attempt))), [forget]);
  }
}

/**
 * Lax, not Strict: the provider's page leads to the callback. The path is said, because the pages of Argo Workflows begin the
 * login below their own address, and the callback lies elsewhere.
 */
function attemptSafety(c: SsoContext, { cookiePath }: SsoLogin): string {
  const path = `${cookiePath.replace(/\/$/, "")}/oauth2`;
  return `; Path=${path}; HttpOnly; SameSite=Lax${safety(c)}`;
}

interface Failure extends Error {
  failure: SsoFailure;
}

function failureOf(failure: SsoFailure, message: string): Failure {
  return Object.assign(new Error(message), { failure });
}

/** @throws {Failure} when this server does not accept the provider's token */
async function accepted(gatekeeper: Gatekeeper, credential: string): Promise<void> {
  try {
    await gatekeeper([credential]);
  } catch (cause) {
    if (!(cause instanceof Problem)) throw cause;
    const isSilent = cause.code === ProblemCode.Unavailable;
    throw failureOf(isSilent ? "unreachable" : "token", cause.message);
  }
}

/** The page of the login that says what went wrong. The provider's words go to the log: an address could hold anybody's. */
function failurePage(log: Logger, error: unknown, returnTo: string): string {
  const { failure } = error as Partial<Failure>;
  if (!(error instanceof Error) || failure === undefined) throw error;
  log.warn({ failure, reason: error.message }, "a login through the identity provider failed");
  return `${ROOT}/login?${new URLSearchParams({ from: returnTo, failed: failure })}`;
}

/** A page of this server; others lead to the first one. */
function pageOf(path: string | undefined): string {
  // A browser reads a backslash as a slash, and two slashes begin the name of a server.
  const isOurs = path !== undefined && path.length <= MAX_RETURN &&
    /^\/(?!\/)[!-[\]-~]*$/.test(path);
  return isOurs ? path : "/";
}

function notConfigured(): Problem {
  return new Problem(
    ProblemCode.Unimplemented,
    "people can't log in through an identity provider here: the server runs without --sso-client-id",
  );
}

function moved(location: string, cookies: readonly string[] = []): Response {
  const headers = new Headers({ location, "cache-control": "no-store" });
  for (const cookie of cookies) headers.append("set-cookie", cookie);
  return new Response(null, { status: 302, headers });
}
