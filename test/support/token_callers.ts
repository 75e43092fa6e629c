/** Callers with a token each, whose rights a list of rules says. */
import { stringify } from "yaml";
import { type AccessRules, parseAccessRules } from "../../src/auth/access_rules.ts";
import type { Authenticator } from "../../src/auth/port.ts";
import {
  createToken,
  createTokenFileAuthenticator,
  parseTokenFile,
} from "../../src/auth/token_file.ts";

export interface TokenCallers {
  /** Of the gatekeeper that lets in these callers and nobody else. */
  gatekeeper: { server: false; authenticators: Authenticator[] };
  authenticator: Authenticator;
  rules: AccessRules;
  /** Empty for one who was not named. */
  tokenOf(subject: string): string;
}

/** @param rules as in an access file */
export function tokenCallers(subjects: readonly string[], rules: string): TokenCallers {
  const made = subjects.map((subject) => ({ subject, ...createToken(subject, []) }));
  const tokens = parseTokenFile(stringify({ tokens: made.map(({ entry }) => entry) }));
  const parsed = parseAccessRules(rules);
  const authenticator = createTokenFileAuthenticator({
    tokens: () => tokens,
    rules: () => parsed,
    now: () => 0,
  });
  return {
    gatekeeper: { server: false, authenticators: [authenticator] },
    authenticator,
    rules: parsed,
    tokenOf: (subject) => made.find((one) => one.subject === subject)?.token ?? "",
  };
}
