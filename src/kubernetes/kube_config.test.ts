import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadKubeConfig } from "./kube_config.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-kubeconfig-"));
  await mkdir(join(folder, "other"));
  const context = (name: string) =>
    `contexts: [{name: ${name}, context: {cluster: ${name}, user: ${name}, namespace: of-${name}}}]\n`;
  const cluster = (name: string, more = "") =>
    `clusters: [{name: ${name}, cluster: {server: "https://${name}.example/"${more}}}]\n`;
  await writeFile(
    join(folder, "first"),
    context("a") + cluster("a") + "users: [{name: a, user: {token: ta}}]\ncurrent-context: ''\n",
  );
  await writeFile(
    join(folder, "other/second"),
    context("b") + cluster("b", ", certificate-authority: ca.pem") +
      "users: [{name: b, user: {tokenFile: token}}, {name: a, user: {token: hidden}}]\ncurrent-context: b\n",
  );
  await writeFile(join(folder, "other/ca.pem"), "CA");
  await writeFile(join(folder, "other/token"), "tb\n");
  await writeFile(join(folder, "broken"), "{");
  await writeFile(join(folder, "empty"), "");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const load = (names: string[], context?: string) =>
  loadKubeConfig({ KUBECONFIG: names.map((name) => join(folder, name)).join(delimiter) }, context);

test("of several files the first that has something counts, and paths begin where they are written", async () => {
  const files = ["missing", "empty", "first", "other/second"];
  const current = await load(files);
  expect(current).toMatchObject({ server: "https://b.example", ca: "CA" });
  expect(await current.token()).toBe("tb");
  const named = await load(files, "a");
  expect(named.server).toBe("https://a.example");
  expect(await named.token()).toBe("ta");
});

test("an empty KUBECONFIG is none", async () => {
  await expect(loadKubeConfig({ KUBECONFIG: "", HOME: folder })).rejects.toThrow(
    `there is no kubeconfig at ${folder}/.kube/config`,
  );
});

test("what is wrong is told with the file", async () => {
  await expect(load(["broken"])).rejects.toThrow(
    `The kubeconfig ${join(folder, "broken")} is not YAML`,
  );
  await expect(load(["missing"])).rejects.toThrow(`no kubeconfig at ${join(folder, "missing")}`);
  await expect(load(["first"])).rejects.toThrow("has no current context");
  await expect(load(["first"], "c")).rejects.toThrow('has no context "c"');
});
