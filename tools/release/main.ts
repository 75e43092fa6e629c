// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * `deno task release --dry-run`: builds and checks everything that a release consists of into `dist/release`, and publishes
 * nothing.
 *
 * `deno task release --publish --registry ghcr.io/OWNER`: does the same from the tag of the version, and publishes it. CI runs
 * it. The registry knows the caller by REGISTRY_USER and REGISTRY_PASSWORD, or by an earlier login.
 *
 * `deno task release --prepare VERSION`: writes the version into all places, makes its section of CHANGELOG.md, and adds the
 * store that it writes to those that later versions must read. Commit the result and tag it.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { tableLines } from "../../src/cli/output.ts";
import { ARTIFACTS, type Workshop } from "./artifacts.ts";
import { prepare } from "./prepare.ts";
import { publicationSteps } from "./publish.ts";
import { publicationFaults, readiness } from "./readiness.ts";

const ROOT = join(import.meta.dirname ?? "", "../..");
const OUT = join(ROOT, "dist/release");
const USAGE = `usage: deno task release --dry-run
       deno task release --publish --registry HOST/PATH
       deno task release --prepare VERSION`;

function main(argv: string[]): Promise<number> | number {
  const { values } = parseArgs({
    args: argv,
    options: {
      "dry-run": { type: "boolean", default: false },
      publish: { type: "boolean", default: false },
      registry: { type: "string" },
      prepare: { type: "string" },
    },
  });
  const modes = [values["dry-run"], values.publish, values.prepare !== undefined];
  const isClear = modes.filter(Boolean).length === 1 &&
    values.publish === (values.registry !== undefined);
  if (!isClear) return refused([USAGE], 2);
  if (values.prepare !== undefined) return prepared(values.prepare);
  const ready = readiness(ROOT);
  if ("faults" in ready) return refused(ready.faults);
  const faults = values.publish ? publicationFaults(ROOT, ready.version) : [];
  if (faults.length > 0) return refused(faults);
  const work = mkdtempSync(join(tmpdir(), "sluice-release-"));
  try {
    rmSync(OUT, { recursive: true, force: true });
    mkdirSync(OUT, { recursive: true });
    const shop: Workshop = { ...ready, root: ROOT, out: OUT, work };
    const status = built(shop, values.publish);
    return status === 0 && values.registry !== undefined
      ? published(shop, values.registry)
      : status;
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function refused(faults: string[], status = 1): number {
  for (const fault of faults) console.error(fault);
  return status;
}

async function prepared(version: string): Promise<number> {
  await prepare(ROOT, version, new Date());
  console.log(
    `Version ${version} is written. Look at the changes, commit them, and tag the commit v${version}.`,
  );
  return 0;
}

/** Makes all artifacts, and says what became of each. @param isWhole nothing may be left out */
function built(shop: Workshop, isWhole: boolean): number {
  const rows: string[][] = [];
  const faults: string[] = [];
  for (const [name, make] of Object.entries(ARTIFACTS)) {
    console.log(`… ${name}`);
    try {
      const { file, checks, leftOut } = make(shop);
      const made = file === undefined ? "checked" : "made";
      rows.push([
        name,
        leftOut === undefined ? made : checks === undefined ? "left out" : "in part",
        [file, checks, leftOut].filter((text) => text !== undefined).join(": "),
      ]);
      if (leftOut !== undefined && isWhole) faults.push(`${name}: ${leftOut}`);
    } catch (cause) {
      rows.push([name, "failed", "see below"]);
      faults.push(`${name}: ${cause instanceof Error ? cause.message : cause}`);
    }
  }
  console.log(`\n${tableLines(["ARTIFACT", "RESULT", "DETAIL"], rows, 3).join("\n")}\n`);
  if (faults.length > 0) return refused(["Not ready:", ...faults]);
  console.log(`Sluice ${shop.version} is in ${OUT}`);
  return 0;
}

/** Stops at the first step that fails: the same command goes on from there. */
function published(shop: Workshop, address: string): number {
  const { REGISTRY_USER: user, REGISTRY_PASSWORD: password } = process.env;
  const login = user !== undefined && password !== undefined ? { login: { user, password } } : {};
  for (const [name, publish] of publicationSteps({ address, ...login })) {
    try {
      console.log(`published ${name}: ${publish(shop)}`);
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      return refused([
        `${name} is not published: ${why}`,
        "Mend that, and run the same command again.",
      ]);
    }
  }
  return 0;
}

process.exitCode = await main(process.argv.slice(2));
