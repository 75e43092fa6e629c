/** A real OpenID Connect provider on a free port, with one client and whoever types a name. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";

export interface IdentityProvider {
  issuer: string;
  /** Ends what it has begun to answer, too. */
  stop(): void;
}

export const SSO_CLIENT = { id: "sluice-pages", secret: "a-secret-of-the-test" };

/** Somebody called `everywhere` is in more groups than a cookie can hold. */
function groupsOf(name: string): string[] {
  const count = name === "everywhere" ? 300 : 0;
  return ["people", ...Array.from({ length: count }, (_, index) => `department-${index}`)];
}

/** @param redirectUrls to which it sends people back */
export async function startIdentityProvider(redirectUrls: string[]): Promise<IdentityProvider> {
  // The issuer holds the port, so the port comes first.
  const server: Server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // Another site than the server under test, so that cookies keep to their rules.
  const issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(issuer, {
    clients: [{
      client_id: SSO_CLIENT.id,
      client_secret: SSO_CLIENT.secret,
      redirect_uris: redirectUrls,
    }],
    pkce: { required: () => true },
    claims: { openid: ["sub", "name", "groups"] },
    conformIdTokenClaims: false,
    cookies: { keys: ["a-key-of-the-test"] },
    ttl: { IdToken: 600, AccessToken: 600, Session: 600, Interaction: 600, Grant: 600 },
    findAccount: (_context: unknown, id: string) => ({
      accountId: id,
      claims: () => Promise.resolve({ sub: id, name: `${id} of the test`, groups: groupsOf(id) }),
    }),
  });
  server.on("request", provider.callback());
  return {
    issuer,
    stop() {
      server.close();
      server.closeAllConnections();
    },
  };
}
