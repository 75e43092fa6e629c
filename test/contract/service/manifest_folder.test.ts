/**
 * A folder of manifests: loaded at the start and on change. An error is reported with file and line, and affects no
 * other manifest.
 */
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Logger } from "../../../src/platform/log.ts";
import { followManifestFolder } from "../../../src/service/manifest_folder.ts";
import { ManifestKind } from "../../../src/spec/manifest.ts";
import { startInstance } from "../../support/api_server.ts";
import { until } from "../../support/until.ts";

const TEMPLATE = (name: string, steps = "suspend: {}") =>
  `kind: WorkflowTemplate
metadata: {name: ${name}}
spec:
  entrypoint: main
  templates:
    - name: main
      ${steps}
`;
const BINDING = (name: string, selector: string) =>
  `kind: WorkflowEventBinding
metadata: {name: ${name}}
spec:
  event:
    selector: ${selector}
  submit: {workflowTemplateRef: {name: base}}
`;

let folder: string;
let instance: Awaited<ReturnType<typeof startInstance>>;
let warnings: { file: string; line: number; reason: string }[];
let stop: AbortController;
/** How often the folder was waited for. */
let pauses: number;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-manifests-"));
  instance = await startInstance({ gatekeeper: { server: true, authenticators: [] } });
  // A look of the test before may still be under way.
  const own: typeof warnings = [];
  warnings = own;
  stop = new AbortController();
  pauses = 0;
  const { clock, log } = instance.service;
  const hasty = Object.create(clock) as typeof clock;
  hasty.sleep = (_, signal) => {
    pauses++;
    return clock.sleep(20, signal);
  };
  instance.service.clock = hasty;
  const heard = Object.create(log) as Logger;
  heard.warn = ((facts: { file: string; line: number; reason: string }) => {
    own.push({ ...facts, file: (facts.file ?? "").slice(folder.length + 1) });
  }) as Logger["warn"];
  instance.service.log = heard;
});
afterEach(async () => {
  stop.abort();
  await instance.stop();
  await rm(folder, { recursive: true });
});

const stored = (kind: ManifestKind, name: string) =>
  instance.service.store.manifests.get(kind, "default", name);

test("stores what is right, in any order, and again when it changes", async () => {
  await writeFile(
    join(folder, "a.yaml"),
    [
      BINDING("good", '"true"'),
      TEMPLATE("user", "steps: [[{name: a, templateRef: {name: base, template: main}}]]"),
      TEMPLATE("base"),
      BINDING("bad", "payload.x =="),
      "kind: WorkflowTemplate\nmetadata:\n  name: [1]\n",
    ].join("---\n"),
  );
  await writeFile(join(folder, "broken.yaml"), "a: [\n");
  await writeFile(join(folder, "notes.txt"), "kind: nothing\n");
  await writeFile(join(folder, "wf.json"), '{"kind":"Workflow","metadata":{"name":"w"}}');
  await followManifestFolder(instance.service, folder, stop.signal);
  for (const name of ["base", "user"]) {
    expect(await stored(ManifestKind.WorkflowTemplate, name)).toBeDefined();
  }
  const good = await stored(ManifestKind.WorkflowEventBinding, "good");
  expect(good).toBeDefined();
  expect(await stored(ManifestKind.WorkflowEventBinding, "bad")).toBeUndefined();
  const places = warnings.map(({ file, line }) => `${file}:${line}`).sort();
  expect(places).toEqual(["a.yaml:28", "a.yaml:33", "broken.yaml:2", "wf.json:1"]);
  expect(warnings.find(({ line }) => line === 28)?.reason).toMatch(/\(1:12\)/);

  await writeFile(join(folder, "b.yaml"), BINDING("bad", '"false"'));
  await expect.poll(() => stored(ManifestKind.WorkflowEventBinding, "bad"), { timeout: 10_000 })
    .toBeDefined();
  expect((await stored(ManifestKind.WorkflowEventBinding, "good"))?.version).toBe(good?.version);
});

test("a link that leads nowhere keeps no other file back", async () => {
  await symlink(join(folder, "gone"), join(folder, "a.yaml"));
  await writeFile(join(folder, "base.yaml"), TEMPLATE("base"));
  await followManifestFolder(instance.service, folder, stop.signal);
  expect(await stored(ManifestKind.WorkflowTemplate, "base")).toBeDefined();
  expect(warnings).toMatchObject([{ file: "a.yaml", reason: expect.stringContaining("ENOENT") }]);
});

test("a folder that is not there is told and waited for", async () => {
  await rm(folder, { recursive: true });
  await followManifestFolder(instance.service, folder, stop.signal);
  // The second look has nothing new to tell.
  await until(() => pauses > 1);
  expect(warnings.length).toBe(1);
  await mkdir(folder);
  await writeFile(join(folder, "base.yaml"), TEMPLATE("base"));
  await expect.poll(() => stored(ManifestKind.WorkflowTemplate, "base"), { timeout: 10_000 })
    .toBeDefined();
});

test("a file that was read from another server replaces the object of its name", async () => {
  const file = join(folder, "t.yaml");
  await writeFile(file, TEMPLATE("base"));
  await followManifestFolder(instance.service, folder, stop.signal);
  const before = await stored(ManifestKind.WorkflowTemplate, "base");
  const edited = TEMPLATE("base", "http: {url: 'http://x'}");
  await writeFile(file, edited.replace("name: base", "name: base, uid: of-another"));
  await expect.poll(
    async () => (await stored(ManifestKind.WorkflowTemplate, "base"))?.text,
    { timeout: 10_000 },
  ).toContain("http://x");
  const after = await stored(ManifestKind.WorkflowTemplate, "base");
  const uidOf = (text = "{}") => JSON.parse(text).metadata.uid;
  expect(uidOf(after?.text)).toBe(uidOf(before?.text));
});
