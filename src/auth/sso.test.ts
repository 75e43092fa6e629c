import { createServer, type Server } from "node:http";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseAccessRules } from "./access_rules.ts";
import { createSsoAuthenticator } from "./sso.ts";

const RULES = parseAccessRules(
  "rules: [{groups: [dev], namespaces: [a], resources: [workflows], verbs: [get]}]",
);
let server: Server;
let issuer: string;
/** The provider does not give its keys. */
let isDown = false;
/** Those that it gives. */
let jwks: unknown[];
let keys: Awaited<ReturnType<typeof generateKeyPair>>;

/** A real provider: discovery document and keys over HTTP. */
beforeAll(async () => {
  keys = await generateKeyPair("RS256");
  jwks = [{ ...await exportJWK(keys.publicKey), kid: "k1", alg: "RS256", use: "sig" }];
  server = createServer((request, response) => {
    response.setHeader("content-type", "application/json");
    if (isDown && request.url === "/keys") response.statusCode = 502;
    if (request.url?.startsWith("/away/")) response.statusCode = 503;
    if (request.url?.startsWith("/long/")) return void response.end(" ".repeat(2 << 20) + "{}");
    response.end(
      JSON.stringify(
        request.url === "/keys" ? { keys: jwks } : { issuer, jwks_uri: `${issuer}/keys` },
      ),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  issuer = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
});
afterAll(() => server.close());

function sign(
  change: { issuer?: string; audience?: string; expires?: string; key?: CryptoKey } = {},
): Promise<string> {
  return new SignJWT({ groups: ["dev"], email: "a@b.c" }).setProtectedHeader({
    alg: "RS256",
    kid: "k1",
  }).setSubject("ann")
    .setIssuer(change.issuer ?? issuer).setAudience(change.audience ?? "sluice").setExpirationTime(
      change.expires ?? "1h",
    )
    .sign(change.key ?? keys.privateKey);
}

let now = 0;
const options = { audience: "sluice", jwksUrl: "", rules: () => RULES, now: () => now };
const authenticator = () => createSsoAuthenticator({ ...options, issuer });

test("a signed token gives the identity and rights of its claims", async () => {
  const caller = await authenticator().authenticate(`Bearer ${await sign()}`);
  expect(caller?.identity).toMatchObject({ subject: "ann", groups: ["dev"], email: "a@b.c" });
  expect(await caller?.may({ verb: "get", resource: "workflows", namespace: "a" })).toBe(true);
  expect(await caller?.may({ verb: "delete", resource: "workflows", namespace: "a" })).toBe(false);
});

test("another issuer, audience, key, or an old token is refused", async () => {
  const stranger = await generateKeyPair("RS256");
  const bad = [
    await sign({ issuer: "http://else" }),
    await sign({ audience: "other" }),
    await sign({ expires: "-1h" }),
    await sign({ key: stranger.privateKey }),
    `${(await sign()).split(".").slice(0, 2).join(".")}.AAAA`,
  ];
  for (const token of bad) {
    await expect(authenticator().authenticate(token)).rejects.toMatchObject({ status: 401 });
  }
});

test("while the provider's keys can't be read, no token is called wrong", async () => {
  const token = `Bearer ${await sign()}`;
  const own = authenticator();
  isDown = true;
  await expect(own.authenticate(token)).rejects.toMatchObject({ status: 503 });
  isDown = false;
  expect((await own.authenticate(token))?.identity).toMatchObject({ subject: "ann" });
  const away = createSsoAuthenticator({
    ...{ ...options, issuer },
    jwksUrl: "http://127.0.0.1:1/keys",
  });
  await expect(away.authenticate(token)).rejects.toMatchObject({ status: 503 });
});

test("keys that were read go on to count while the provider is away, until they are read again", async () => {
  const token = `Bearer ${await sign()}`;
  const own = authenticator();
  await own.authenticate(token);
  isDown = true;
  now += 11 * 60_000;
  expect((await own.authenticate(token))?.identity).toMatchObject({ subject: "ann" });
  isDown = false;
  const old = jwks;
  jwks = [];
  now += 10_000;
  expect((await own.authenticate(token))?.identity).toMatchObject({ subject: "ann" });
  now += 30_000;
  await expect(own.authenticate(token)).rejects.toMatchObject({ status: 401 });
  jwks = old;
});

test.each([
  ["away", "answered 503"],
  ["long", "more than 1048576 bytes"],
])("a provider that is %s is not taken at its word", async (place, reason) => {
  const own = createSsoAuthenticator({ ...options, issuer: `${issuer}/${place}` });
  await expect(own.authenticate(`Bearer ${await sign()}`)).rejects
    .toMatchObject({ status: 503, message: expect.stringContaining(reason) as string });
});

test("a token whose key the provider does not have is refused", async () => {
  const token = await new SignJWT({}).setProtectedHeader({ alg: "RS256", kid: "k2" })
    .setSubject("ann").setIssuer(issuer).setAudience("sluice").setExpirationTime("1h")
    .sign(keys.privateKey);
  await expect(authenticator().authenticate(`Bearer ${token}`)).rejects
    .toMatchObject({ status: 401 });
});

test("a credential that is not a JWT is left to others", async () => {
  expect(await authenticator().authenticate("Bearer abc")).toBeUndefined();
});
