/** Login through a real identity provider, below the prefix of a proxy. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import axe from "axe-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { createToken } from "../../../src/auth/token_file.ts";
import { browserMissing } from "../../support/argo_pages.ts";
import {
  type IdentityProvider,
  SSO_CLIENT,
  startIdentityProvider,
} from "../../support/identity_provider.ts";
import { openPrefixProxy, type PrefixProxy } from "../../support/prefix_proxy.ts";
import { openUi, type Ui, WAITS } from "../../support/ui.ts";

const missing = browserMissing();
const PREFIX = "/some/prefix";

describe.skipIf(missing !== undefined)(
  `login through an identity provider${missing ? ` (skipped: ${missing})` : ""}`,
  () => {
    const admin = createToken("admin", []);
    let folder: string;
    let provider: IdentityProvider;
    let proxy: PrefixProxy;
    let ui: Ui;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), "sluice-ui-sso-"));
      proxy = await openPrefixProxy(PREFIX);
      const redirectUrl = `${proxy.url}/oauth2/callback`;
      provider = await startIdentityProvider([redirectUrl]);
      const files = { tokens: join(folder, "tokens.yaml"), access: join(folder, "access.yaml") };
      await writeFile(files.tokens, stringify({ tokens: [admin.entry] }));
      const verbs = ["get", "list", "watch", "update"];
      const rules = [
        { subjects: ["admin"], namespaces: ["*"], resources: ["*"], verbs: ["*"] },
        { groups: ["people"], namespaces: ["team"], resources: ["workflows"], verbs },
      ];
      await writeFile(files.access, stringify({ rules }));
      // In place of the built pages of Argo Workflows: their button is no more than a link.
      const argoPages = join(folder, "argo");
      await mkdir(argoPages);
      await writeFile(join(argoPages, "index.html"), '<base href="/">');
      ui = await openUi([
        `--argo-ui-dir=${argoPages}`,
        "--auth-mode=client,sso",
        `--token-file=${files.tokens}`,
        `--access-file=${files.access}`,
        `--sso-issuer=${provider.issuer}`,
        "--sso-audience=machines",
        `--sso-client-id=${SSO_CLIENT.id}`,
        `--sso-client-secret=${SSO_CLIENT.secret}`,
        `--sso-redirect-url=${redirectUrl}`,
      ], admin.token);
      proxy.lead(ui.server.url);
      await ui.submit("mine", WAITS, "team");
    });
    afterAll(async () => {
      await ui?.close();
      provider?.stop();
      proxy?.close();
      if (folder !== undefined) await rm(folder, { recursive: true, force: true });
    });

    const open = (path: string) => ui.page.goto(proxy.url + path);
    /** Fills in the provider's own pages. */
    async function logInAtProvider(name: string): Promise<void> {
      await ui.page.locator("input[name=login]").fill(name);
      await ui.page.locator("input[name=password]").fill("any");
      await ui.page.getByRole("button", { name: "Sign-in" }).click();
      await ui.page.getByRole("button", { name: "Continue" }).click();
    }
    const startLogin = () =>
      ui.page.getByRole("link", { name: "Log in with your organisation" }).click();
    const cookies = () => ui.page.context().cookies();

    test("leads to the provider and back to the page that was asked for, with what the groups allow", async () => {
      const { page } = ui;
      await open("/workflows/team/mine?view=tree");
      await page.getByText("Please log in").waitFor();
      await page.getByRole("link", { name: "Log in" }).click();
      await startLogin();
      await logInAtProvider("grace");
      await page.waitForURL(`${proxy.url}/workflows/team/mine?view=tree`);
      await page.getByText("grace of the test").waitFor();
      await ui.button("Resume").click();
      await page.locator(".headline .phase", { hasText: "Succeeded" }).waitFor();
      // The rules give this group no deletion.
      expect(await ui.button("Delete").count()).toBe(0);
      const kept = (await cookies()).find(({ name }) => name === "authorization");
      expect(kept).toMatchObject({ path: PREFIX, httpOnly: true, sameSite: "Strict" });
      expect(kept?.expires).toBeGreaterThan(Date.now() / 1000);
      expect((await cookies()).some(({ name }) => name === "sluice-sso")).toBe(false);
      expect(await page.evaluate("document.cookie")).not.toContain("authorization");
    });

    test("logout forgets the login; the next one needs no password while the provider knows the person", async () => {
      const { page } = ui;
      await open("/?namespace=team");
      await ui.button("Log out").click();
      await page.waitForURL(`${proxy.url}/login`);
      expect((await cookies()).some(({ name }) => name === "authorization")).toBe(false);
      await open("/?namespace=team");
      await page.getByText("Please log in").waitFor();
      await page.getByRole("link", { name: "Log in" }).click();
      await startLogin();
      await page.waitForURL(`${proxy.url}/?namespace=team`);
      await page.getByRole("link", { name: "mine", exact: true }).waitFor();
    });

    test("the button of the pages of Argo Workflows begins the login below their own address", async () => {
      const { page } = ui;
      await page.context().clearCookies({ name: "authorization" });
      await open("/argo/oauth2/redirect?redirect=/workflows/team/mine");
      await page.waitForURL(`${proxy.url}/workflows/team/mine`);
      await page.getByText("grace of the test").waitFor();
      expect((await cookies()).some(({ name }) => name === "sluice-sso")).toBe(false);
    });

    test("an answer that this browser did not ask for is refused, and says what to do", async () => {
      const { page } = ui;
      await page.context().clearCookies();
      // As a hostile page would do it, to log somebody in as somebody else.
      await open("/oauth2/callback?code=stolen&state=guessed");
      await page.getByText(/took too long, or another one has begun since\. Log in again/)
        .waitFor();
      await open("/login?from=%2Fwaiting");
      const asked = page.waitForRequest((one) => one.url().startsWith(`${provider.issuer}/auth?`));
      await startLogin();
      const { searchParams } = new URL((await asked).url());
      expect(Object.fromEntries(searchParams)).toMatchObject({
        response_type: "code",
        code_challenge_method: "S256",
        state: expect.stringMatching(/^.{40,}$/),
        nonce: expect.stringMatching(/^.{40,}$/),
      });
      await open("/oauth2/callback?code=stolen&state=guessed");
      await page.getByText(/another one has begun since/).waitFor();
      // The page that was asked for is not lost.
      expect(page.url()).toContain("from=%2Fwaiting");
      await open(`/oauth2/callback?code=stolen&state=${searchParams.get("state")}`);
      await page.getByText(/another one has begun since/).waitFor();
      expect((await cookies()).some(({ name }) => name === "authorization")).toBe(false);
    });

    test("a person whom the provider refuses is told so", async () => {
      const { page } = ui;
      await page.context().clearCookies();
      await open("/login");
      await startLogin();
      await page.getByRole("link", { name: "[ Cancel ]" }).click();
      await page.getByText("Your identity provider did not let you in.").waitFor();
      expect(ui.server.log.join("\n")).toContain("access_denied");
    });

    test.each([
      ["nonce", "do not understand each other"],
      ["verifier", "took too long"],
    ])("a token for another %s is refused", async (member, words) => {
      const { page } = ui;
      await page.context().clearCookies();
      await open("/login");
      await startLogin();
      await page.locator("input[name=login]").waitFor();
      const kept = (await cookies()).find(({ name }) => name === "sluice-sso");
      if (kept === undefined) throw new Error("the browser keeps nothing of the login");
      expect(kept).toMatchObject({ path: `${PREFIX}/oauth2`, httpOnly: true, sameSite: "Lax" });
      const attempt = JSON.parse(Buffer.from(kept.value, "base64url").toString());
      attempt[member] = attempt[member].split("").reverse().join("");
      const value = Buffer.from(JSON.stringify(attempt)).toString("base64url");
      await page.context().addCookies([{ ...kept, value }]);
      await logInAtProvider("mallory");
      await page.getByText(new RegExp(words)).waitFor();
      expect((await cookies()).some(({ name }) => name === "authorization")).toBe(false);
    });

    test("a token that no cookie can hold is told", async () => {
      const { page } = ui;
      await page.context().clearCookies();
      await open("/login");
      await startLogin();
      await logInAtProvider("everywhere");
      await page.getByText(/Your token is too long for a cookie/).waitFor();
      expect((await cookies()).some(({ name }) => name === "authorization")).toBe(false);
    });

    test.each(["light", "dark"] as const)(
      "axe finds nothing serious in the login, %s",
      async (theme) => {
        await ui.page.emulateMedia({ colorScheme: theme });
        await open("/login?failed=settings");
        await ui.page.getByRole("alert").waitFor();
        await ui.page.evaluate(axe.source);
        const found = await ui.page.evaluate<string[]>(
          `axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"] })
          .then(({ violations }) => violations.map(({ id }) => id))`,
        );
        expect(found).toEqual([]);
      },
    );

    test("never leads to another site", async () => {
      for (const to of ["//evil.example/", "https://evil.example/", "/\\evil.example", "evil"]) {
        const response = await fetch(
          `${ui.server.url}/oauth2/redirect?${new URLSearchParams({ redirect: to })}`,
          { redirect: "manual" },
        );
        const [cookie = ""] = response.headers.getSetCookie();
        const value =
          /^sluice-sso=([^;]+); Max-Age=600; Path=\/some\/prefix\/oauth2; HttpOnly; SameSite=Lax$/
            .exec(cookie)?.[1];
        const kept = JSON.parse(Buffer.from(value ?? "", "base64url").toString());
        expect(kept.returnTo, to).toBe("/");
      }
    });

    test("a provider that does not answer is told, and a token still works", async () => {
      const begun = await fetch(`${ui.server.url}/oauth2/redirect`, { redirect: "manual" });
      const state = new URL(begun.headers.get("location") ?? "").searchParams.get("state");
      const [cookie = ""] = begun.headers.getSetCookie();
      provider.stop();
      const answer = await fetch(
        `${ui.server.url}/oauth2/callback?code=some&state=${state}&iss=${
          encodeURIComponent(provider.issuer)
        }`,
        { redirect: "manual", headers: { cookie: cookie.split(";")[0] ?? "" } },
      );
      expect(answer.headers.get("location")).toBe("../login?from=%2F&failed=unreachable");
      const { page } = ui;
      await page.context().clearCookies();
      await open("/login?from=%2F%3Fnamespace%3Dteam&failed=unreachable");
      await page.getByText("Your identity provider does not answer.").waitFor();
      await page.getByLabel("Token").fill(admin.token);
      await ui.button("Log in").click();
      await page.getByRole("link", { name: "mine", exact: true }).waitFor();
    });
  },
);
