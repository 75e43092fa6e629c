/** The package as a stranger uses it: packed, installed into an empty folder, run on Node and on Deno. */
import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { VERSION } from "../../src/base/version.ts";
import { checkNpmPackage, fileNames, npmSbom } from "../../tools/release/artifacts.ts";
import { freePort } from "../support/free_port.ts";
import { nodeFolder, type Packed, packOnce, registryMissing } from "../support/packed.ts";
import { untilAnswered } from "../support/until.ts";

const ROOT = join(import.meta.dirname, "../..");
const BIN = join(ROOT, "node_modules/.bin");
/** Bytes of the tarball at most; 1.4 MB when this was written. */
const MAX_BYTES = 1_600_000;
const ALLOWED = [
  /^(package\.json|README\.md|LICENSE)$/,
  /^lib\/[\w/]+\.(js|d\.ts)$/,
  /^dist\/ui\/[\w-]+\.(js|css|svg|json)$/,
  /^examples\/[\w.-]+\.(yaml|mjs)$/,
];
const PROGRAM = `
import { createClient, type Workflow } from "sluice";
import { type RunningServer, startServer } from "sluice/server";

const server: RunningServer = await startServer({ port: 0, store: "memory:", executor: "none" });
const client = createClient({ server: server.url });
const spec = { entrypoint: "main", templates: [{ name: "main", suspend: {} }] };
const params = { namespace: "default" };
const made: Workflow = await client.call("WorkflowService_CreateWorkflow", {
  params,
  body: { workflow: { metadata: { name: "one" }, spec } },
});
console.log(made.metadata.name);
await server.close();
// @ts-expect-error an option that only processes of their own have
await startServer({ processes: "2" }).catch((error: Error) => console.log(error.message));
// @ts-expect-error a wrong type
await startServer({ port: "many" }).catch((error: Error) => console.log(error.message));
`;

const missing = registryMissing();
const title = missing === undefined ? "the package" : `the package (skipped: ${missing})`;

describe.skipIf(missing !== undefined)(title, () => {
  let folder: string;
  let app: string;
  let packed: Packed;
  let env: NodeJS.ProcessEnv;
  const run = async (command: string, ...args: string[]) => {
    const done = promisify(execFile)(command, args, { cwd: app, env });
    const { stdout } = await done.catch((error: Error & { stdout: string }) => {
      throw new Error(`${error.message}\n${error.stdout}`);
    });
    return stdout;
  };

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "sluice-package-"));
    packed = packOnce();
    app = join(folder, "app");
    mkdirSync(app);
    env = { ...process.env, PATH: `${nodeFolder()}:${process.env["PATH"]}`, NO_COLOR: "1" };
    const quiet = ["--no-audit", "--no-fund", "--loglevel=error"];
    execFileSync("npm", ["install", ...quiet, packed.file], { cwd: app, env, stdio: "pipe" });
    writeFileSync(join(app, "program.mts"), PROGRAM);
  }, 300_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("holds modules, declarations of what it exports, pages and examples, nothing else", () => {
    const { paths, size } = packed;
    expect(paths.filter((path) => !ALLOWED.some((one) => one.test(path)))).toEqual([]);
    expect(paths.filter((path) => path.includes(".test."))).toEqual(
      paths.filter((path) => /^examples\/[\w-]+\.test\.yaml$/.test(path)),
    );
    expect(paths).toEqual(expect.arrayContaining([
      "lib/mod.js",
      "lib/mod.d.ts",
      "lib/server.js",
      "lib/server.d.ts",
      "lib/cli/main.js",
      "lib/service/manifests/check_thread.js",
      "lib/executors/resource/jq_process.js",
      "dist/ui/index.json",
      "examples/async-job.yaml",
    ]));
    expect(paths).not.toContain("lib/ui/build.js");
    expect(size).toBeLessThan(MAX_BYTES);
  });

  test("publint and attw find nothing", () => {
    expect(() => checkNpmPackage(ROOT, packed.file)).not.toThrow();
  });

  test("its SBOM has what it depends on", () => {
    const [out, work] = [join(folder, "out"), join(folder, "work")];
    for (const one of [out, work]) mkdirSync(one);
    const names = fileNames(VERSION);
    copyFileSync(packed.file, join(out, names.npm));
    expect(npmSbom({ out, work, version: VERSION })).toMatchObject({ file: names.npmSbom });
    const { bomFormat, metadata, components } = JSON.parse(
      readFileSync(join(out, names.npmSbom), "utf8"),
    );
    expect(bomFormat).toBe("CycloneDX");
    const purl = `pkg:npm/sluice@${VERSION}`;
    expect(metadata.component).toMatchObject({ name: "sluice", version: VERSION, purl });
    const { dependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    const listed = components.map(({ name }: { name: string }) => name);
    expect(listed).toEqual(expect.arrayContaining(Object.keys(dependencies)));
    expect(listed).not.toContain("typescript");
  });

  test.each([["nodenext", "nodenext"], ["esnext", "bundler"]])(
    "types under --module %s --moduleResolution %s",
    async (module, resolution) => {
      const flags = ["--strict", "--noEmit", "--target", "es2024", "--skipLibCheck", "false"];
      const how = ["--module", module, "--moduleResolution", resolution];
      await run(join(BIN, "tsc"), ...flags, ...how, "program.mts");
    },
  );

  const runtimes = { node: ["node"], deno: [process.execPath, "run", "-A", "--check"] };
  test.runIf("Deno" in globalThis).each(Object.entries(runtimes))(
    "client and server inside a program on %s, which ends by itself",
    async (_name, [command = "", ...args]) => {
      expect(await run(command, ...args, "program.mts")).toBe(
        'one\nUnknown option "processes"\n--port is "many", expected 0 to 65535\n',
      );
    },
  );

  const main = "node_modules/sluice/lib/cli/main.js";
  const programs = {
    node: ["npx sluice", "node_modules/.bin/sluice"],
    deno: [`${process.execPath} run -A ${main}`, `${process.execPath} run -A ${main}`],
  };
  test.runIf("Deno" in globalThis).each(Object.entries(programs))(
    "on %s the program without arguments serves, and the async job of README.md runs",
    async (_name, [serve = "", sluice = ""]) => {
      const [port, jobs] = [await freePort(), await freePort()];
      const cwd = mkdtempSync(join(app, "run-"));
      const own = { ...env, SLUICE_PORT: String(port), SLUICE_STORE: `sqlite:${cwd}` };
      const [command = "", ...args] = serve.split(" ");
      const url = `http://127.0.0.1:${port}`;
      const server = spawn(command, args, {
        cwd: app,
        env: own,
        stdio: ["ignore", "pipe", "inherit"],
        detached: true,
      });
      let log = "";
      server.stdout.on("data", (chunk) => (log += chunk));
      const jobServer = spawn("node", ["node_modules/sluice/examples/job_server.mjs"], {
        cwd: app,
        env: { ...env, JOB_PORT: String(jobs) },
        stdio: "ignore",
        detached: true,
      });
      try {
        await untilAnswered(`${url}/readyz`);
        await untilAnswered(`http://127.0.0.1:${jobs}/jobs`);
        const page = await fetch(`${url}/`, { headers: { accept: "text/html" } });
        const [, script = "none"] = /src="([^"]+\.js)"/.exec(await page.text()) ?? [];
        expect((await fetch(new URL(script, `${url}/`))).status).toBe(200);
        const out = await run("timeout", "60", "bash", "-euc", asyncJob(sluice, port, jobs));
        expect(out).toMatch(/job [0-9a-f-]{36} is done\s*$/);
      } finally {
        await stop(jobServer);
        await stop(server);
      }
      expect(log).toMatch(/"msg":"stopped"\}\n$/);
    },
  );
});

/** The commands of README.md's example, with the installed program, and with ports that are free here. */
function asyncJob(sluice: string, port: number, jobs: number): string {
  const readme = readFileSync(join(ROOT, "README.md"), "utf8");
  const [, section = ""] = /^## Example: wait for a job elsewhere$([^]*?)^## /m.exec(readme) ?? [];
  const blocks = [...section.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, block = ""]) => block)
    .filter((block) => !block.includes("job_server.mjs"));
  expect(blocks.length).toBe(3);
  // A person reads the answer before typing on; the script waits for the step that waits.
  const wait = `until sluice get $NAME -o short | grep -q 'ǁ wait'; do sleep 0.2; done\n`;
  const [submit = "", ...rest] = blocks;
  return `${submit}${wait}${rest.join("")}`
    .replace(/^alias sluice=.*$/m, `sluice() { ${sluice} "$@"; }\nexport SLUICE_SERVER=:2746`)
    .replaceAll("sluice submit ", `sluice submit -p jobs=http://127.0.0.1:${jobs}/jobs `)
    .replaceAll("examples/", "node_modules/sluice/examples/")
    .replaceAll(":8099", `:${jobs}`)
    .replace("SLUICE_SERVER=:2746", `SLUICE_SERVER=http://127.0.0.1:${port}`)
    .replaceAll(":2746", `:${port}`);
}

/** Asks the programs of a process group to stop, as Ctrl-C does, and waits until nobody writes to its output any more. */
function stop(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once("close", () => resolve());
    process.kill(-(child.pid ?? 0), "SIGINT");
  });
}
