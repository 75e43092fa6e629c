/**
 * Login of people at an OpenID Connect provider: authorization code with PKCE (S256), state and nonce. Nothing is kept here
 * between the two requests: the browser has what is needed in a cookie, so every replica can finish what another began.
 */
import * as oidc from "openid-client";
import { errorText } from "../base/error_text.ts";
import { isJsonObject } from "../base/json.ts";
import { parseOrUndefined } from "../base/json_text.ts";

export interface SsoLoginOptions {
  issuer: string;
  clientId: string;
  /** "" for a client that has none. */
  clientSecret: string;
  /** Separated by spaces. */
  scopes: string;
  /** Address of `/oauth2/callback` as browsers reach it; the provider knows it too. */
  redirectUrl: string;
}

/** Why a login came to nothing. The pages have a text for each. */
export const SsoFailure = {
  /** The login took too long, began in another browser, or another one began since. */
  Stale: "stale",
  /** The provider refused the person. */
  Refused: "refused",
  /** The provider refuses this server, or what it says is not valid. */
  Settings: "settings",
  /** The provider does not answer. */
  Unreachable: "unreachable",
  /** The provider's token is not accepted here. */
  Token: "token",
  /** The token is too long for a cookie. */
  TooLong: "too-long",
} as const;
export type SsoFailure = typeof SsoFailure[keyof typeof SsoFailure];

/** A login that came to nothing. The message is for the log: it has the provider's own words. */
class SsoError extends Error {
  readonly failure: SsoFailure;

  constructor(failure: SsoFailure, message: string) {
    super(message);
    this.name = "SsoError";
    this.failure = failure;
  }
}

/** What the browser keeps while the visitor is at the provider. */
interface Attempt {
  state: string;
  nonce: string;
  verifier: string;
  returnTo: string;
}

export interface SsoLogin {
  /**
   * Path below which the pages are, for cookies: `/`, or the prefix of a proxy without a slash at its end.
   */
  cookiePath: string;
  /** Where to send the browser, and what it must bring back. @throws {SsoError} */
  begin(returnTo: string): Promise<{ address: string; attempt: string }>;
  /**
   * Exchanges the provider's answer for a token.
   * @param query of the callback, without its question mark
   * @throws {SsoError}
   */
  finish(
    query: string,
    attempt: string | undefined,
  ): Promise<{ token: string; expiresAt: number; returnTo: string }>;
  /** The page of an attempt; undefined when it can't be read. */
  returnOf(attempt: string | undefined): string | undefined;
}

const TIMEOUT_S = 5;
/** The provider's own description is read again after this time, ms. */
const KEPT_MS = 3600_000;

/** @param now epoch ms */
export function createSsoLogin(options: SsoLoginOptions, now: () => number): SsoLogin {
  const { redirectUrl, scopes } = options;
  const provider = rememberProvider(options, now);
  return {
    cookiePath: new URL(redirectUrl).pathname.replace(/\/?oauth2\/callback$/, "") || "/",
    async begin(returnTo) {
      const config = await provider();
      const verifier = oidc.randomPKCECodeVerifier();
      const attempt: Attempt = {
        state: oidc.randomState(),
        nonce: oidc.randomNonce(),
        verifier,
        returnTo,
      };
      const address = oidc.buildAuthorizationUrl(config, {
        redirect_uri: redirectUrl,
        scope: scopes,
        state: attempt.state,
        nonce: attempt.nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
        code_challenge_method: "S256",
      });
      return { address: address.href, attempt: encode(attempt) };
    },
    async finish(query, text) {
      const attempt = decode(text);
      if (attempt === undefined) throw new SsoError(SsoFailure.Stale, "no login was begun");
      const address = new URL(`?${query}`, redirectUrl);
      if (address.searchParams.get("state") !== attempt.state) {
        throw new SsoError(SsoFailure.Stale, "the answer belongs to another login");
      }
      const config = await provider();
      try {
        const tokens = await oidc.authorizationCodeGrant(config, address, {
          pkceCodeVerifier: attempt.verifier,
          expectedState: attempt.state,
          expectedNonce: attempt.nonce,
          idTokenExpected: true,
        });
        const expiresAt = (tokens.claims()?.exp ?? 0) * 1000;
        return { token: tokens.id_token ?? "", expiresAt, returnTo: attempt.returnTo };
      } catch (error) {
        throw asSsoError(error);
      }
    },
    returnOf: (text) => decode(text)?.returnTo,
  };
}

/** Asks for the provider's description, and keeps it for a while, but not a failure. */
function rememberProvider(
  { issuer, clientId, clientSecret }: SsoLoginOptions,
  now: () => number,
): () => Promise<oidc.Configuration> {
  let found: Promise<oidc.Configuration> | undefined;
  let until = 0;
  return () => {
    if (found !== undefined && now() < until) return found;
    const isPlain = new URL(issuer).protocol === "http:";
    const asked = oidc.discovery(
      new URL(issuer),
      clientId,
      undefined,
      clientSecret === "" ? oidc.None() : oidc.ClientSecretBasic(clientSecret),
      {
        timeout: TIMEOUT_S,
        // Whoever names an issuer without TLS means it.
        ...(isPlain && { execute: [oidc.allowInsecureRequests] }),
      },
    ).catch((error: unknown) => {
      found = undefined;
      throw asSsoError(error);
    });
    found = asked;
    until = now() + KEPT_MS;
    return asked;
  };
}

function asSsoError(error: unknown): SsoError {
  const text = [error, (error as { cause?: unknown }).cause].filter((one) => one instanceof Error)
    .map(errorText).join(": ");
  if (error instanceof oidc.AuthorizationResponseError) {
    const isOurs = /^(invalid_request|unauthorized_client|invalid_scope|unsupported)/.test(
      error.error,
    );
    const failure = error.error === "temporarily_unavailable" || error.error === "server_error"
      ? SsoFailure.Unreachable
      : isOurs
      ? SsoFailure.Settings
      : SsoFailure.Refused;
    return new SsoError(failure, `${error.error}: ${error.error_description ?? ""}`);
  }
  if (error instanceof oidc.ResponseBodyError) {
    // A code that was used before, or for too long.
    const isStale = error.error === "invalid_grant";
    const failure = isStale ? SsoFailure.Stale : SsoFailure.Settings;
    return new SsoError(failure, `${error.error}: ${error.error_description ?? ""}`);
  }
  const code = (error as { code?: unknown }).code;
  const isSilent = error instanceof TypeError || code === "OAUTH_TIMEOUT" ||
    (error instanceof DOMException) || code === "OAUTH_RESPONSE_IS_NOT_CONFORM";
  return new SsoError(isSilent ? SsoFailure.Unreachable : SsoFailure.Settings, text);
}

function encode(attempt: Attempt): string {
  return Buffer.from(JSON.stringify(attempt)).toString("base64url");
}

function decode(text: string | undefined): Attempt | undefined {
  const value = text && parseOrUndefined(Buffer.from(text, "base64url").toString());
  if (!isJsonObject(value)) return undefined;
  const { state, nonce, verifier, returnTo } = value;
  const isWhole = [state, nonce, verifier, returnTo].every((one) => typeof one === "string");
  return isWhole ? value as unknown as Attempt : undefined;
}
