/**
 * A registry of npm packages on this machine (verdaccio): what is published into it comes from there, everything else from
 * npm's own. verdaccio is installed once below `node_modules/.cache`, because only the tests of the pages need it.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { stringify } from "yaml";
import { nodeFolder } from "./packed.ts";
import { freePort } from "./free_port.ts";

const VERDACCIO = "6.10.4";
/** verdaccio names this dependency by a tag, which mirrors of npm's registry may not have. */
const OVERRIDES = { "node-fetch": "2.7.0" };
const HOME = join(import.meta.dirname, "../../node_modules/.cache", `verdaccio-${VERDACCIO}`);

export interface NpmRegistry {
  url: string;
  /** Variables with which npm uses it, with an empty cache and no settings of this machine. */
  env: NodeJS.ProcessEnv;
  /** Publishes a tarball into it. */
  publish(file: string): void;
  stop(): Promise<void>;
}

export async function startNpmRegistry(): Promise<NpmRegistry> {
  install();
  const folder = mkdtempSync(join(tmpdir(), "sluice-registry-"));
  const settings = join(folder, "config.yaml");
  const uplink = execFileSync("npm", ["config", "get", "registry"], { encoding: "utf8" }).trim();
  writeFileSync(settings, stringify(configured(folder, uplink)));
  const bin = nodeFolder();
  const server = spawn(
    join(bin, "node"),
    [
      join(HOME, "node_modules/verdaccio/bin/verdaccio"),
      "--config",
      settings,
      "--listen",
      `127.0.0.1:${await freePort()}`,
    ],
    { cwd: folder, stdio: ["ignore", "pipe", "ignore"] },
  );
  const url = await listening(server);
  const npmrc = join(folder, "npmrc");
  // npm publishes only with a token; the registry takes any.
  writeFileSync(npmrc, `registry=${url}\n${url.replace("http:", "")}:_authToken=any\n`);
  const env = {
    ...process.env,
    PATH: `${bin}:${process.env["PATH"]}`,
    NO_COLOR: "1",
    npm_config_userconfig: npmrc,
    npm_config_cache: join(folder, "cache"),
    npm_config_update_notifier: "false",
    npm_config_fund: "false",
    npm_config_audit: "false",
  };
  return {
    url,
    env,
    publish: (file) =>
      void execFileSync("npm", ["publish", file, "--silent"], { env, stdio: "pipe" }),
    async stop() {
      const gone = once(server, "exit");
      process.kill(server.pid ?? 0, "SIGKILL");
      await gone;
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function configured(folder: string, uplink: string): unknown {
  return {
    storage: join(folder, "storage"),
    uplinks: { npm: { url: uplink, maxage: "1h" } },
    packages: {
      sluice: { access: "$all", publish: "$all" },
      "**": { access: "$all", proxy: "npm" },
    },
    log: { type: "stdout", format: "json", level: "http" },
    web: { enable: false },
    publish: { allow_offline: true },
  };
}

/** In a folder of its own first, so that an attempt that breaks off leaves nothing that looks whole. */
function install(): void {
  if (existsSync(HOME)) return;
  mkdirSync(join(HOME, ".."), { recursive: true });
  const work = mkdtempSync(`${HOME}-`);
  const pack = { private: true, dependencies: { verdaccio: VERDACCIO }, overrides: OVERRIDES };
  writeFileSync(join(work, "package.json"), JSON.stringify(pack));
  const quiet = ["--no-audit", "--no-fund", "--loglevel=error", "--ignore-scripts"];
  execFileSync("npm", ["install", ...quiet], { cwd: work, stdio: "pipe" });
  renameSync(work, HOME);
}

function listening(server: ChildProcess): Promise<string> {
  let said = "";
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.once("exit", () => reject(new Error(`verdaccio ended: ${said.slice(-2_000)}`)));
    server.stdout?.on("data", (chunk) => {
      if (said.length < 20_000) said += chunk;
      const [url] = /http:\/\/127\.0\.0\.1:\d+\//.exec(said) ?? [];
      if (url !== undefined) resolve(url);
    });
  });
}
