import { availableParallelism } from "node:os";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { ALONE, WAITING } from "./test/support/alone.ts";
import { LongestFirst } from "./test/support/longest_first.ts";

type Settings = NonNullable<TestProjectInlineConfiguration["test"]>;

const PROPERTIES = ["src/**/*.property.test.ts", "test/property/**/*.test.ts"];
/** Vitest would leave one processor free: of two, half of them. */
const PROCESSORS = availableParallelism();
/** Tests of servers mostly wait. But each has several processes: many of them would only delay each other. */
const SERVERS = Math.min(3, PROCESSORS + 1);
/** Needs Helm, not Redis. */
const CHART = "test/contract/helm/**/*.test.ts";
/**
 * The same on both runtimes: what could differ lies below, and has tests of its own. Use cases, and what is stored in large
 * amounts, damaged, or copied: the stores themselves have `store.test.ts`, which runs on both.
 */
const ABOVE_THE_RUNTIME = [
  "test/contract/service/**/*.test.ts",
  "test/contract/store/copy.test.ts",
  "test/contract/store/large_workflows.test.ts",
  "test/contract/store/unreadable_*.test.ts",
];
const CONTRACT = {
  globalSetup: ["test/support/global_setup.ts"],
  testTimeout: 60_000,
  hookTimeout: 120_000,
};
/** The files of a worker share no state but modules, and loading those anew for each file takes as long as the tests. */
const SHARED = { isolate: false };
const SEEDED = { setupFiles: ["test/support/property_seed.ts"] };

let groups = 0;

/** How long a test waits for what must come about, by itself: on a busy machine a second, vitest's own, is no time. */
const POLLING = { expect: { poll: { timeout: 10_000 } } };

/** A project whose files run side by side. Projects run one after the other, in the order in which they are made here. */
function project(name: string, maxWorkers: number, settings: Settings) {
  return {
    test: { ...POLLING, ...settings, name, maxWorkers, sequence: { groupOrder: ++groups } },
  };
}

/**
 * The same, but files that measure time run afterwards, as two more projects: those that mostly wait beside each other as
 * `NAME-waiting`, the others one at a time as `NAME-alone`.
 */
function projects(name: keyof typeof ALONE, maxWorkers: number, settings: Settings) {
  const { exclude = [] } = settings;
  const alone = [...ALONE[name]];
  const waiting = name === "contract" || name === "e2e" ? [...WAITING[name]] : [];
  return [
    project(name, maxWorkers, { ...settings, exclude: [...exclude, ...alone, ...waiting] }),
    ...(waiting.length === 0
      ? []
      : [project(`${name}-waiting`, maxWorkers, { ...settings, include: waiting })]),
    project(`${name}-alone`, 1, { ...settings, include: alone }),
  ];
}

/** Fast projects first: `unit` needs nothing, `contract` needs redis-server, the rest start real servers. */
export default defineConfig({
  test: {
    globals: false,
    sequence: { sequencer: LongestFirst },
    projects: [
      ...projects("unit", PROCESSORS, {
        ...SEEDED,
        ...SHARED,
        include: ["src/**/*.test.ts"],
        exclude: [...PROPERTIES, "node_modules/**"],
        // Generous, because a busy machine is no defect.
        testTimeout: 30_000,
      }),
      // Whatever the runtime: Node leaves it out.
      project("pages", PROCESSORS, {
        ...SEEDED,
        ...SHARED,
        include: ["tools/**/*.test.ts", "test/docs/**/*.test.ts", CHART],
        testTimeout: 60_000,
      }),
      ...projects("property", PROCESSORS, {
        ...SEEDED,
        ...SHARED,
        include: PROPERTIES,
        testTimeout: 120_000,
      }),
      ...projects("contract", SERVERS, {
        ...SEEDED,
        ...SHARED,
        ...CONTRACT,
        include: ["test/contract/**/*.test.ts"],
        exclude: [CHART, ...ABOVE_THE_RUNTIME],
      }),
      // Node leaves them out.
      project("use-cases", SERVERS, {
        ...SEEDED,
        ...SHARED,
        ...CONTRACT,
        include: ABOVE_THE_RUNTIME,
      }),
      // Pure computing on a simulated clock; it starts as many processes as it can use.
      project("simulation", PROCESSORS, {
        include: ["test/simulation/**/*.test.ts"],
      }),
      ...projects("e2e", SERVERS, {
        ...SHARED,
        include: ["test/e2e/**/*.test.ts", "test/chaos/**/*.test.ts"],
        globalSetup: ["test/support/global_setup.ts"],
        testTimeout: 300_000,
        hookTimeout: 120_000,
      }),
      // Each kind runs its inputs in its own process; as many kinds at once as there are processors.
      project("fuzz", 1, {
        include: ["test/fuzz/**/*.test.ts"],
        maxConcurrency: 2,
      }),
    ],
  },
});
