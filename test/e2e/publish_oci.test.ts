/** Image and chart in a registry on this machine, as a release puts them into one. */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { VERSION } from "../../src/base/version.ts";
import { writeImageArchive } from "../../tools/oci_archive.ts";
import { ARCHITECTURES, fileNames } from "../../tools/release/artifacts.ts";
import { ociSteps } from "../../tools/release/publish.ts";
import { run } from "../../tools/release/run.ts";
import { findProgram } from "../cluster/programs.ts";

const ROOT = join(import.meta.dirname, "../..");
const [crane, helm] = [findProgram("crane"), findProgram("helm")];
const missing = crane.missing ?? helm.missing;
const title = "image of two architectures and chart, twice";

const cleanUp: (() => void)[] = [];
afterEach(() => {
  for (const run of cleanUp.splice(0).reverse()) run();
});

/** A registry in memory; resolves with its address. */
function startRegistry(): Promise<string> {
  const child = spawn(crane.path ?? "", ["registry", "serve", "--address", "127.0.0.1:0"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  cleanUp.push(() => child.kill("SIGKILL"));
  return new Promise((resolve, reject) => {
    let said = "";
    child.stderr.on("data", (chunk) => {
      const [, port] = /serving on port (\d+)/.exec(said += chunk) ?? [];
      if (port !== undefined) resolve(`127.0.0.1:${port}`);
    });
    child.once("exit", () => reject(new Error(`crane registry serve ended: ${said}`)));
  });
}

test.skipIf(missing !== undefined)(
  missing === undefined ? title : `${title} (skipped: ${missing})`,
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-publish-"));
    cleanUp.push(() => rmSync(folder, { recursive: true, force: true }));
    const [out, work, layer] = ["out", "work", "layer"].map((name) => join(folder, name));
    for (const one of [out, work, layer]) mkdirSync(one ?? "");
    writeFileSync(join(layer ?? "", "hello"), "hello");
    const shop = { root: ROOT, out: out ?? "", work: work ?? "", version: VERSION, notes: "" };
    const names = fileNames(VERSION);
    const images = ARCHITECTURES.map((arch) => ({ arch, layers: [layer ?? ""] }));
    const file = join(shop.out, names.image);
    writeImageArchive({ out: file, name: `sluice:${VERSION}`, images, config: {} });
    run(helm.path ?? "", ["package", "helm/sluice", "--destination", shop.work], { cwd: ROOT });
    run("mv", [join(shop.work, `sluice-${VERSION}.tgz`), join(shop.out, names.chart)]);

    const address = `${await startRegistry()}/owner`;
    const publish = () => ociSteps({ address, isPlain: true }).map(([, publish]) => publish(shop));
    const references = publish();
    expect(references).toEqual([
      expect.stringMatching(new RegExp(`^${address}/sluice:${VERSION}@sha256:[0-9a-f]{64}$`)),
      expect.stringMatching(new RegExp(`^${address}/charts/sluice@sha256:[0-9a-f]{64}$`)),
    ]);
    const ask = (...args: string[]) => run(crane.path ?? "", [...args, "--insecure"]);
    const index = JSON.parse(ask("manifest", `${address}/sluice:${VERSION}`));
    expect(
      index.manifests.map(({ platform }: { platform: { architecture: string } }) =>
        platform.architecture
      ),
    ).toEqual(ARCHITECTURES);
    expect(JSON.parse(ask("config", `${address}/charts/sluice:${VERSION}`)).version).toBe(VERSION);
    // The same files again change nothing of the image.
    expect(publish()[0]).toBe(references[0]);
  },
);
