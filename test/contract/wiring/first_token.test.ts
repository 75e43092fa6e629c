/** The token that a server makes which was told to ask for tokens and given none. */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, expect, test } from "vitest";
import { allows, parseAccessRules } from "../../../src/auth/access_rules.ts";
import { createToken } from "../../../src/auth/token_file.ts";
import { makeFirstToken } from "../../../src/wiring/first_token.ts";
import { type ServerProcess, startServer } from "../../support/server_process.ts";

const TOKEN = /sluice_[A-Za-z0-9_-]{43}/;
const CLI = join(import.meta.dirname, "../../../src/cli/main.ts");

let folder: string;
const running: ServerProcess[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-first-token-"));
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((server) => server.kill()));
  rmSync(folder, { recursive: true, force: true });
});

const files = () => ({
  tokenFile: join(folder, "tokens.yaml"),
  accessFile: join(folder, "access.yaml"),
});

/** Starts a server that is open to the network; its log beside it. */
async function start(): Promise<{ server: ServerProcess; token: string | undefined }> {
  const lines: string[] = [];
  const server = await startServer([
    "--host=0.0.0.0",
    "--executor=none",
    "--auth-mode=client",
    `--store=sqlite:${folder}`,
  ], { onLine: (line) => lines.push(line) });
  running.push(server);
  return { server, token: TOKEN.exec(lines.join("\n"))?.[0] };
}

async function status(server: ServerProcess, token?: string): Promise<number> {
  const headers: Record<string, string> = token === undefined
    ? {}
    : { authorization: `Bearer ${token}` };
  const answer = await fetch(`${server.url}/api/v1/workflows/anywhere`, { headers });
  await answer.body?.cancel();
  return answer.status;
}

function sluice(...args: string[]): string {
  const flags = "Deno" in globalThis ? ["run", "-A"] : [];
  const done = spawnSync(process.execPath, [...flags, CLI, ...args], { encoding: "utf8" });
  expect(done.stderr + done.error).toContain("shown only now");
  return done.stdout.trim();
}

test(
  "the first start shows a token for everything once, and a lost one can be replaced",
  async () => {
    const first = await start();
    expect(first.token).toMatch(TOKEN);
    expect(await status(first.server)).toBe(401);
    expect(await status(first.server, `${first.token}x`)).toBe(401);
    expect(await status(first.server, first.token)).toBe(200);
    const { tokenFile } = files();
    expect(readFileSync(tokenFile, "utf8")).not.toContain(first.token);
    expect(statSync(tokenFile).mode & 0o777).toBe(0o600);
    await first.server.kill();

    const second = await start();
    expect(second.token).toBeUndefined();
    expect(await status(second.server, first.token)).toBe(200);

    const file = ["--subject", "admin", "--file", tokenFile];
    const other = sluice("token", "create", ...file);
    await expect.poll(() => status(second.server, other), { timeout: 5_000 }).toBe(200);
    expect(await status(second.server, first.token)).toBe(200);
    const only = sluice("token", "create", ...file, "--replace");
    await expect.poll(() => status(second.server, only), { timeout: 5_000 }).toBe(200);
    expect(await status(second.server, first.token)).toBe(401);
    expect(await status(second.server, other)).toBe(401);
  },
  60_000,
);

test("of several that start at once, one makes a token", async () => {
  const starts = await Promise.allSettled([start(), start(), start()]);
  const up = starts.filter((one) => one.status === "fulfilled").map(({ value }) => value);
  expect(up).toHaveLength(1);
  for (const { server, token } of up) expect(await status(server, token)).toBe(200);
  const refused = starts.filter((one) => one.status === "rejected").map(({ reason }) => reason);
  for (const reason of refused) {
    expect(String(reason)).toContain("in use by another process");
    expect(String(reason)).not.toContain("stack");
    expect(String(reason)).not.toMatch(TOKEN);
  }
}, 60_000);

test("who is killed before the token counts shows another at the next start", () => {
  const shown: string[] = [];
  const dies = () => {
    throw new Error("killed");
  };
  expect(() => makeFirstToken(files(), 2746, dies)).toThrow("killed");
  expect(existsSync(files().tokenFile)).toBe(false);
  for (let i = 0; i < 2; i++) makeFirstToken(files(), 2746, (text) => shown.push(text));
  expect(shown).toHaveLength(1);
  const { tokenFile } = files();
  expect(shown[0]).toContain(`sluice token create --subject admin --replace --file ${tokenFile}`);
});

test("files that are there already are left alone", () => {
  const { tokenFile, accessFile } = files();
  const own = JSON.stringify({ tokens: [createToken("admin", []).entry] });
  writeFileSync(tokenFile, own);
  makeFirstToken(files(), 0, () => expect.unreachable());
  expect(readFileSync(tokenFile, "utf8")).toBe(own);
  // A token that was made before the first start has its rule.
  const rules = parseAccessRules(readFileSync(accessFile, "utf8"));
  const all = { verb: "delete", group: "any", resource: "things", namespace: "" } as const;
  expect(allows(rules, { subject: "admin" }, all)).toBe(true);
  expect(allows(rules, { subject: "ci", groups: ["admin"] }, all)).toBe(false);

  rmSync(tokenFile);
  writeFileSync(accessFile, "rules: []");
  makeFirstToken(files(), 0, () => {});
  expect(readFileSync(accessFile, "utf8")).toBe("rules: []");
});

test("the first rules are plain YAML, which somebody can add to", () => {
  makeFirstToken(files(), 2746, () => {});
  const text = readFileSync(files().accessFile, "utf8");
  expect(text).not.toMatch(/[&*]a\d/);
  expect(parseAccessRules(text)).toHaveLength(1);
});
