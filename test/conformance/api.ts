/**
 * Conformance of the API. Starts the server profiles of the recorded scenarios in this process, lets the recordings'
 * own runner (`run.py`, only Python's standard library) play them, and counts steps. Steps in which Sluice differs on
 * purpose are reported separately, with the reason.
 */
import { execFile } from "node:child_process";
import { access, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Archive } from "../../src/archive/port.ts";
import { powerlessCaller, unrestrictedCaller } from "../../src/auth/caller.ts";
import { claimedIdentity, decodeBasicUser } from "../../src/auth/claims.ts";
import type { Authenticator } from "../../src/auth/port.ts";
import { Problem, ProblemCode } from "../../src/base/problem.ts";
import { type ApiServerOptions, startApiServer } from "../support/api_server.ts";
import { inCommonWords } from "./own_words.ts";
import type { ConformanceResult } from "./result.ts";

/** Accepts every token and password, and believes what they say: only here. */
const credulous: Authenticator = {
  // deno-lint-ignore require-await -- so that a refusal is a rejection
  async authenticate(credential = "") {
    if (credential.startsWith("Basic ") && decodeBasicUser(credential.slice(6)) === undefined) {
      throw new Problem(
        ProblemCode.Unauthenticated,
        "failed to create REST config: error parsing basic authentication",
      );
    }
    if (!/^(Bearer|Basic) /.test(credential)) return undefined;
    return unrestrictedCaller(claimedIdentity(credential));
  },
};

/** Accepts every token and allows nothing. */
const forbidding: Authenticator = {
  authenticate: (credential) =>
    Promise.resolve(
      /^(Bearer|Basic) /.test(credential ?? "")
        ? powerlessCaller({ subject: "visitor" })
        : undefined,
    ),
};

const PROFILES: Record<string, ApiServerOptions> = {
  server: { gatekeeper: { server: true, authenticators: [] }, eventWorkers: 4 },
  client: {
    eventWorkers: 4,
    gatekeeper: { server: false, authenticators: [credulous] },
    callerOf: unrestrictedCaller,
    settings: { authRequired: true },
  },
  hybrid: { eventWorkers: 4, gatekeeper: { server: true, authenticators: [credulous] } },
  denied: {
    gatekeeper: { server: false, authenticators: [forbidding] },
    settings: { authRequired: true },
  },
  async: {
    eventWorkers: 4,
    gatekeeper: { server: true, authenticators: [] },
    settings: { eventQueueSize: 16 },
  },
  stalled: { gatekeeper: { server: true, authenticators: [] }, settings: { eventQueueSize: 2 } },
};

interface Step {
  request: { method: string; path: string };
  response: { status: number | number[]; body?: { message?: string } };
}

interface Scenario {
  name: string;
  seed?: {
    kind: string;
    spec?: {
      submit?: { arguments?: { parameters?: { value?: string; valueFrom?: unknown }[] } };
    };
  }[];
  steps: Step[];
}

interface Difference {
  scenario: string;
  step: number;
  text: string[];
}

/** The name of a workflow that an event made: template, time and unique suffix. */
const EVENT_NAME =
  /^body(?:\/items\/\d+)?\/metadata\/name: "(.*-)\d{14}-[a-z0-9]{8}", expected "(.*-)<suffix>"$/;

/** The message of an answer and the recorded one. */
const MESSAGE =
  /^(?:body|frames\/\d+\/error)\/message: ("(?:[^"\\]|\\.)*"), expected ("(?:[^"\\]|\\.)*")$/;

/** A page that does not say how many come after it. */
const NO_REMAINING = /^body\/metadata\/remainingItemCount: missing \(expected [1-9]/;

/** Why a difference is intended, or undefined. `text` has the request first, then the difference. */
function purposeOf(
  scenario: Scenario,
  step: Step | undefined,
  text: readonly string[],
  isArchived: boolean,
): string | undefined {
  if (step === undefined) return undefined;
  const { method, path } = step.request;
  const { status, body } = step.response;
  const differs = text.slice(1);
  if (isArchived && differs.length > 0 && differs.every((one) => NO_REMAINING.test(one))) {
    return "nobody counts how many the archive has after a page";
  }
  if (
    /^\/api\/v1\/events\//.test(path) && status === 500 &&
    body?.message?.startsWith("failed to dispatch event") === true &&
    differs.includes("status 200, expected 500")
  ) return "events are queued: a failing binding is told by the delivery record, not by the answer";
  if (
    /^\/api\/v1\/events\//.test(path) && status === 403 &&
    body?.message === "failed to process webhook request" &&
    differs.every((one) => !one.startsWith("status"))
  ) return "the refusal of an event without a token says what is missing, as JSON with a code";
  if (/^\/api\/v1\/workflow-event-bindings\//.test(path) && method !== "GET" && status === 501) {
    return "event bindings can be written through the API";
  }
  if (method !== "GET" && status === 400 && differs.includes("status 401, expected 400")) {
    return "a body is not read before it is known who sends it";
  }
  if (differs.length > 0 && differs.every((one) => EVENT_NAME.test(one))) {
    return "a workflow made by an event is named by its template and a time-stamp";
  }
  const isDefect = text[0]?.includes("[known defect:") === true;
  const isWording = (one: string) => {
    const [, got, want] = MESSAGE.exec(one) ?? [];
    return got !== undefined && want !== undefined &&
      inCommonWords(JSON.parse(got)) === inCommonWords(JSON.parse(want));
  };
  const isMeant = (one: string) =>
    isWording(one) || (isDefect && /^(status|body\/code)\b/.test(one));
  if (differs.some(isWording) && differs.every(isMeant)) {
    return "the message says the same in words of this product";
  }
  const hasLiteral =
    scenario.seed?.some(({ spec }) =>
      spec?.submit?.arguments?.parameters?.some(({ value, valueFrom }) =>
        value !== undefined && valueFrom === undefined
      ) === true
    ) === true;
  if (hasLiteral && differs.every((one) => /^body\/items: \d+ elements, expected 0$/.test(one))) {
    return "a parameter of a binding may have a value of its own";
  }
  return undefined;
}

/**
 * Plays every scenario in `dir`, or in its folder `scenarios`, with the `run.py` beside them. The figures are steps.
 * @param openArchive opens an empty archive, where the finished workflows of each seed are then; events and watches are left
 * out. Absent: they stay in the store
 */
export async function run(
  dir: string,
  openArchive?: () => Archive,
): Promise<ConformanceResult> {
  const { scenarios, runner } = await locate(dir);
  const servers = await Promise.all(
    Object.entries(PROFILES).map(async ([profile, { settings, ...options }]) => ({
      profile,
      ...await startApiServer({
        ...options,
        settings: { ...settings, archive: openArchive !== undefined },
        ...(openArchive && { archive: openArchive }),
      }),
    })),
  );
  try {
    const urls = servers.flatMap(({ profile, server }) => [
      "--url",
      `${profile}=http://127.0.0.1:${server.port}`,
    ]);
    // What an event makes has not ended, and the first events of a watch show what is in the store.
    const areas = openArchive === undefined ? [] : ["--area", "^(?!events$|streams$)"];
    const output = await play(runner, [scenarios, ...urls, ...areas]);
    return await judge(scenarios, output, openArchive !== undefined);
  } finally {
    await Promise.all(servers.map(({ stop }) => stop()));
  }
}

/** Runs the recordings' own runner and returns its output, even if something differs. */
export async function play(runner: string, args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await promisify(execFile)("python3", [runner, ...args], {
      maxBuffer: 256 * 1024 * 1024,
    });
    return stdout;
  } catch (error) {
    const { code, stdout, stderr } = error as { code?: unknown; stdout?: string; stderr?: string };
    // Status 1 means that something differs; any other means trouble with the runner itself.
    if (code === 1 && stdout !== undefined && stdout !== "") return stdout;
    throw new Error(`${runner} failed: ${stderr ?? String(error)}`);
  }
}

async function judge(
  scenarios: string,
  output: string,
  isArchived: boolean,
): Promise<ConformanceResult> {
  const summary = /steps (\d+)\/(\d+)/.exec(output);
  if (summary === null) throw new Error(`The runner printed no summary:\n${output}`);
  let passed = Number(summary[1]);
  let total = Number(summary[2]);
  const lines: string[] = [];
  for (const difference of parseDifferences(output)) {
    const scenario = await readScenario(scenarios, difference.scenario);
    const step = scenario.steps[difference.step - 1];
    const purpose = purposeOf(scenario, step, difference.text, isArchived);
    const where = `${difference.scenario} step ${difference.step}`;
    if (purpose === undefined) {
      lines.push(`${where}\n${difference.text.map((text) => `    ${text}`).join("\n")}`);
    } else {
      total--;
      lines.push(`${where}: different on purpose: ${purpose}`);
    }
  }
  passed = Math.min(passed, total);
  return { passed, total, lines };
}

function parseDifferences(output: string): Difference[] {
  const found: Difference[] = [];
  for (const line of output.split("\n")) {
    const head = /^(\S+) step (\d+) {2}/.exec(line);
    if (head !== null) {
      found.push({
        scenario: head[1] ?? "",
        step: Number(head[2]),
        text: [line.slice(head[0].length)],
      });
    } else if (line.startsWith("    ")) found.at(-1)?.text.push(line.trim());
  }
  return found;
}

async function readScenario(dir: string, name: string): Promise<Scenario> {
  for (const file of await readdir(dir)) {
    if (!file.endsWith(".json")) continue;
    const scenario = JSON.parse(await readFile(join(dir, file), "utf8")) as Scenario;
    if (scenario.name === name) return scenario;
  }
  throw new Error(`No scenario "${name}" in ${dir}`);
}

/** Folder of the scenarios and the runner, for any level of the recordings. */
export async function locate(dir: string): Promise<{ scenarios: string; runner: string }> {
  const nested = join(dir, "scenarios");
  const scenarios = await exists(nested) ? nested : dir;
  for (const runner of [join(dir, "run.py"), join(scenarios, "..", "run.py")]) {
    if (await exists(runner)) return { scenarios, runner };
  }
  throw new Error(`No run.py in ${dir} or above it`);
}

/** Tells whether a file or folder is there. */
export function exists(path: string): Promise<boolean> {
  return access(path).then(() => true, () => false);
}
