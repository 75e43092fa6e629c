/** The secrets of a git artifact, and who gets them. */
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createArtifactStore } from "../../../src/artifacts/artifact_store.ts";

const BASIC = `Basic ${Buffer.from("user:password").toString("base64")}`;

let dir = "";
const servers: Server[] = [];
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "sluice-git-secrets-"));
});
afterAll(async () => {
  for (const server of servers) server.close();
  await rm(dir, { recursive: true, force: true });
});

/** Serves the folder as files, which git can read; notes the credentials of each request. */
async function serve(seen: Set<string>, needed?: string): Promise<string> {
  const server = createServer(async ({ url = "", headers: { authorization = "none" } }, answer) => {
    seen.add(authorization);
    const path = join(dir, new URL(url, "http://server").pathname);
    const content = await readFile(path).catch(() => undefined);
    const isAllowed = needed === undefined || authorization === needed;
    answer.writeHead(isAllowed ? content === undefined ? 404 : 200 : 401);
    answer.end(isAllowed ? content : "");
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function git(repo: string, ...args: string[]): void {
  const user = ["-c", "user.name=t", "-c", "user.email=t@t"];
  execFileSync("git", ["-C", join(dir, repo), ...user, ...args], { stdio: "ignore" });
}

async function repository(name: string): Promise<void> {
  await mkdir(join(dir, name));
  git(name, "init", "-b", "main");
  await writeFile(join(dir, name, `file-of-${name}`), name);
  git(name, "add", ".");
  git(name, "commit", "-m", "1");
  git(name, "update-server-info");
}

test("a server gets its credentials, for submodules too; the server of another submodule gets none", async () => {
  const [own, foreign] = [new Set<string>(), new Set<string>()];
  const [ownUrl, foreignUrl] = [await serve(own, BASIC), await serve(foreign)];
  for (const name of ["near", "far", "main"]) await repository(name);
  const submodule = (name: string, url: string) => {
    git(".", "clone", name, `main/${name}`);
    return `[submodule "${name}"]\n\tpath = ${name}\n\turl = ${url}/${name}/.git\n`;
  };
  const modules = submodule("near", ownUrl) + submodule("far", foreignUrl);
  await writeFile(join(dir, "main/.gitmodules"), modules);
  git("main", "add", ".");
  git("main", "commit", "-m", "submodules");
  git("main", "update-server-info");
  const store = createArtifactStore({
    config: {
      configMap: () => Promise.resolve(undefined),
      secret: () => Promise.resolve({ u: "user", p: "password" }),
    },
  });
  const location = {
    repo: `${ownUrl}/main/.git`,
    usernameSecret: { name: "s", key: "u" },
    passwordSecret: { name: "s", key: "p" },
  };
  const got = join(dir, "got");
  await store.fetch({ name: "g", git: location }, got, { namespace: "default" });
  expect(await readdir(join(got, "near"))).toContain("file-of-near");
  expect(await readdir(join(got, "far"))).toContain("file-of-far");
  expect([...own]).toEqual([BASIC]);
  expect([...foreign]).toEqual(["none"]);
});
