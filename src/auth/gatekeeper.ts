/**
 * Finds out who sends a request, by the authentication modes that are on. Only this file decides to which mode a credential
 * belongs.
 */
import { Problem, ProblemCode } from "../base/problem.ts";
import { unrestrictedCaller } from "./caller.ts";
import { claimedIdentity } from "./claims.ts";
import type { Authenticator, Caller } from "./port.ts";

/** Text of the refusal when no mode accepts the credential. */
const TOKEN_NOT_VALID =
  "token not valid: send a token that this server knows in the Authorization header, with or without Bearer before it";

export interface GatekeeperOptions {
  /** Authentication is off for requests without a credential: they run with the server's rights. */
  server: boolean;
  /** Tried in order. The first that accepts the credential decides. */
  authenticators: readonly Authenticator[];
}

/** A caller of whom nothing is known: always the same one, so that what follows from it is worked out once. */
const NOBODY: Caller = { ...unrestrictedCaller(), isAnyone: true };

/** Gives the caller of a request that has these credentials (`credentialsOf`); a promise where somebody has to be asked. */
export type Gatekeeper = (credentials: readonly string[]) => Caller | Promise<Caller>;

/**
 * Creates a gatekeeper. With mode server alone, every request has the server's rights. Together with other modes, only a request
 * without a credential has them: a credential that no mode accepts is refused.
 */
export function createGatekeeper(options: GatekeeperOptions): Gatekeeper {
  const { server, authenticators } = options;
  return (credentials) => {
    if (server && (authenticators.length === 0 || credentials.length === 0)) {
      const [credential] = credentials;
      if (credential === undefined) return NOBODY;
      return { ...unrestrictedCaller(claimedIdentity(credential)), isAnyone: true };
    }
    return firstCaller(credentials, authenticators);
  };
}

async function firstCaller(
  credentials: readonly string[],
  authenticators: readonly Authenticator[],
): Promise<Caller> {
  let refusal: unknown;
  for (const credential of credentials) {
    for (const authenticator of authenticators) {
      try {
        const caller = await authenticator.authenticate(credential);
        if (caller !== undefined) return caller;
      } catch (error) {
        if (!(error instanceof Problem)) throw error;
        refusal ??= error;
      }
    }
  }
  throw refusal ?? new Problem(ProblemCode.Unauthenticated, TOKEN_NOT_VALID);
}
