import { expect, test } from "vitest";
import { parseConfig } from "../platform/config.ts";
import { shownConfig } from "./shown_config.ts";

test("shownConfig() shows no secret and no password of a URL", () => {
  const config = parseConfig([
    "--store=redis://user:hush@redis:6379",
    "--artifacts=s3://KEY:hu/sh@host/bucket",
    "--archive-store=postgres://sluice:hush@postgres/sluice",
    "--sso-issuer=https://user:hush@issuer",
    "--sso-jwks-url=https://user:hush@issuer/keys",
    "--callback-url=http://user:hush@sluice:2746",
  ], { SLUICE_SSO_CLIENT_SECRET: "hush" });
  const shown = shownConfig(config);
  expect(JSON.stringify(shown)).not.toMatch(/hush|hu\/sh/);
  expect(shown).toMatchObject({
    port: 2746,
    store: "redis://user:***@redis:6379",
    archiveStore: "postgres://sluice:***@postgres/sluice",
    ssoClientSecret: "***",
    authMode: ["server"],
  });
});

test("shownConfig() shows as nothing what is not set, and where the archive is", () => {
  const shown = shownConfig(parseConfig(["--store=sqlite:there"], {}));
  expect(shown).toMatchObject({ ssoClientSecret: "", artifacts: "", archiveStore: "sqlite:there" });
});
