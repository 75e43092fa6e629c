import { expect, test } from "vitest";
import { stringify } from "yaml";
import { parseAccessRules } from "./access_rules.ts";
import { createToken, createTokenFileAuthenticator, parseTokenFile } from "./token_file.ts";

const RULES = parseAccessRules(
  "rules: [{subjects: [ci], namespaces: [a], resources: [workflows], verbs: [get]}]",
);

function authenticatorFor(entry: unknown, now = 0) {
  const tokens = parseTokenFile(stringify({ tokens: [entry] }));
  return createTokenFileAuthenticator({ tokens: () => tokens, rules: () => RULES, now: () => now });
}

test("a created token is accepted with and without its scheme, and has its subject's rights", async () => {
  const { token, entry } = createToken("ci", ["builders"]);
  const authenticator = authenticatorFor(entry);
  for (const credential of [token, `Bearer ${token}`, `bearer ${token}`]) {
    const caller = await authenticator.authenticate(credential);
    expect(caller?.identity).toEqual({ subject: "ci", groups: ["builders"] });
    expect(await caller?.may({ verb: "get", resource: "workflows", namespace: "a" })).toBe(true);
    expect(await caller?.may({ verb: "get", resource: "workflows", namespace: "b" })).toBe(false);
  }
});

test("the subject of a service account gives its name and namespace", async () => {
  const { token, entry } = createToken("system:serviceaccount:kilns:robot", []);
  const caller = await authenticatorFor(entry).authenticate(token);
  expect(caller?.identity).toEqual({
    subject: "system:serviceaccount:kilns:robot",
    serviceAccountName: "robot",
    serviceAccountNamespace: "kilns",
  });
});

test("a token that is not in the file, or has expired, is refused", async () => {
  const { token, entry } = createToken("ci", [], 1000);
  await expect(authenticatorFor(entry, 1000).authenticate(token)).rejects.toThrow("Unauthorized");
  await expect(authenticatorFor(entry, 999).authenticate(`${token}x`)).rejects.toThrow(
    "Unauthorized",
  );
  expect(await authenticatorFor(entry, 999).authenticate(token)).toBeDefined();
});

test("other schemes and JWTs are left to other authenticators", async () => {
  const authenticator = authenticatorFor(createToken("ci", []).entry);
  expect(await authenticator.authenticate("Basic abc")).toBeUndefined();
  expect(await authenticator.authenticate("Bearer a.b.c")).toBeUndefined();
  expect(await authenticator.authenticate(undefined)).toBeUndefined();
});

test("the file never holds the token", () => {
  const { token, entry } = createToken("ci", []);
  expect(JSON.stringify(entry)).not.toContain(token.slice(8));
});

test.each([
  ["tokens: 5", "list under `tokens`"],
  ["tokens: [{hash: x}]", "tokens[0].subject is missing"],
  ["tokens: [{subject: a, hash: plain}]", "tokens[0].hash must be sha256:"],
  [
    `tokens: [{subject: a, expiresAt: soon, hash: "sha256:${"0".repeat(64)}"}]`,
    "tokens[0].expiresAt",
  ],
  [
    `tokens: [{subject: a, expiresAt: "2026-02-31T00:00:00Z", hash: "sha256:${"0".repeat(64)}"}]`,
    "tokens[0].expiresAt is not an RFC 3339 time",
  ],
])("parseTokenFile(%s) says %s", (text, message) => {
  expect(() => parseTokenFile(text)).toThrow(message);
});
