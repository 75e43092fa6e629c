/**
 * Manifests that grow without end: each of them is refused, or ends in phase Error, and until then nobody else notices, no
 * lease is lost and the memory of the servers stays bounded.
 */
import { join } from "node:path";
import { call } from "../support/event_ledger.ts";
import { residentMib } from "../support/server_memory.ts";
import { ALWAYS, Arena, arenaFolder, arenaRedis } from "./arena.ts";
import { type ChaosRun, type Outcome, type Scenario, wait } from "./scenario.ts";
import { quantile } from "../support/quantile.ts";

const WORKFLOWS = "/api/v1/workflows/default";
/** Most resident memory of one server, MiB. */
const MEMORY = 1_024;
/** 99 of 100 calls of the others are answered within this, ms. */
const PATIENCE_MS = 500;

type Spec = Record<string, unknown>;

const WAITING = { name: "w", suspend: {} };
const param = (name: string, value?: string) => ({
  parameters: [{ name, ...(value === undefined ? {} : { value }) }],
});

/** Each branch calls the same template twice; `more` makes it impossible to foresee. */
function recursion(more: Spec): Spec {
  const again = (name: string) => ({ name, template: "r", ...more });
  return {
    entrypoint: "main",
    arguments: param("go", "yes"),
    templates: [
      { name: "main", steps: [[{ name: "r", template: "r" }]] },
      { name: "r", steps: [[{ name: "s", template: "w" }, again("a"), again("b")]] },
      WAITING,
    ],
  };
}

/** A loop around a loop. */
function nested(count: string): Spec {
  const loop = (template: string) => [[{
    name: "each",
    template,
    withSequence: { count },
  }]];
  return {
    entrypoint: "main",
    arguments: param("n", "900"),
    templates: [
      { name: "main", steps: loop("inner") },
      { name: "inner", steps: loop("w") },
      WAITING,
    ],
  };
}

/** A long list of long items, each of which is an argument. */
function longList(length: number, size: number): Spec {
  const items = Array.from({ length }, () => "x".repeat(size));
  return {
    entrypoint: "main",
    arguments: param("list", JSON.stringify(items)),
    templates: [
      {
        name: "main",
        steps: [[{
          name: "each",
          template: "t",
          withParam: "{{workflow.parameters.list}}",
          arguments: param("x", "{{item}}{{item}}{{item}}{{item}}{{item}}{{item}}{{item}}{{item}}"),
        }]],
      },
      { name: "t", inputs: param("x"), suspend: {} },
    ],
  };
}

/** One call inside the other, with an argument that doubles. */
function doubling(): Spec {
  return {
    entrypoint: "main",
    arguments: param("x", "x".repeat(1_000)),
    templates: [
      {
        name: "main",
        steps: [[{ name: "r", template: "r", arguments: param("x", "{{workflow.parameters.x}}") }]],
      },
      {
        name: "r",
        inputs: param("x"),
        steps: [[{
          name: "r",
          template: "r",
          arguments: param("x", "{{inputs.parameters.x}}{{inputs.parameters.x}}"),
        }]],
      },
    ],
  };
}

/** A loop whose elements end at once, each with a large output. */
function outputs(): Spec {
  return {
    entrypoint: "main",
    templates: [
      { name: "main", steps: [[{ name: "each", template: "t", withSequence: { count: "2000" } }]] },
      {
        name: "t",
        steps: [[{ name: "s", template: "w", when: "false" }]],
        outputs: {
          parameters: [{ name: "o", valueFrom: { expression: "sprig.repeat(100000, 'x')" } }],
        },
      },
      WAITING,
    ],
  };
}

/** One call inside the other, for ever. */
function deep(): Spec {
  return {
    entrypoint: "r",
    templates: [{ name: "r", steps: [[{ name: "r", template: "r" }]] }],
  };
}

const KINDS: Record<string, Spec> = {
  recursion: recursion({}),
  "conditional-recursion": recursion({ when: "{{workflow.parameters.go}} == yes" }),
  nested: nested("900"),
  "nested-by-argument": nested("{{workflow.parameters.n}}"),
  "long-list": longList(200_000, 1),
  "large-items": longList(10_000, 1_000),
  doubling: doubling(),
  outputs: outputs(),
  deep: deep(),
};

/** Another caller, who makes a small workflow, looks at it and resumes it, again and again. */
class Neighbour {
  readonly #arena: Arena;
  readonly times: number[] = [];
  readonly failures: string[] = [];
  readonly #ended: Promise<void>;
  #isRunning = true;

  constructor(arena: Arena, id: number) {
    this.#arena = arena;
    this.#ended = this.#live(id);
  }

  async stop(): Promise<void> {
    this.#isRunning = false;
    await this.#ended;
  }

  async #live(id: number): Promise<void> {
    const spec = { entrypoint: "w", templates: [WAITING] };
    for (let n = 0; this.#isRunning; n++) {
      const name = `neighbour-${id}-${n}`;
      await this.#call("POST", WORKFLOWS, { workflow: { metadata: { name }, spec } });
      await this.#call("GET", `${WORKFLOWS}/${name}`);
      await this.#call("PUT", `${WORKFLOWS}/${name}/resume`, {});
      await wait(100);
    }
  }

  async #call(method: string, path: string, body?: unknown): Promise<void> {
    const begun = performance.now();
    const answer = await call(this.#arena.anyUrl(), method, path, body)
      .catch((cause: Error) => ({ status: 0, body: { message: cause.message } }));
    this.times.push(performance.now() - begun);
    if (answer.status !== 200) {
      this.failures.push(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    }
  }
}

async function explode(run: ChaosRun, store: string, replicas: number): Promise<Outcome> {
  const arena = await Arena.start(run, store, replicas, [
    // What comes in is not what is bounded here.
    "--max-body-bytes=16777216",
    // In CI others use the machine at the same time.
    ...(run.isShort ? ["--max-nodes=20000", "--lease-ttl=20s"] : []),
  ]);
  const pids = Array.from({ length: replicas }, (_, index) => arena.server(index).pid);
  let memory = 0;
  const watching = setInterval(() => {
    memory = Math.max(memory, ...pids.map((pid) => residentMib({ pid })));
  }, 100);
  run.onEnd(() => clearInterval(watching));
  const violations: string[] = [];
  const figures: Record<string, number | string> = {};
  const neighbours = Array.from({ length: 3 }, (_, id) => new Neighbour(arena, id));
  let ended = 0;
  const copies = run.isShort ? 2 : 5;
  for (const [kind, spec] of Object.entries(KINDS)) {
    const begun = performance.now();
    memory = 0;
    const from = neighbours.map(({ times }) => times.length);
    const verdicts = await Promise.all(
      Array.from({ length: copies }, (_, copy) => verdictOn(arena, `${kind}-${copy}`, spec)),
    );
    const times = neighbours.flatMap((one, at) => one.times.slice(from[at]));
    const shown = (share: number) => quantile(times, share).toFixed(0);
    figures[kind] = `${verdicts[0]} after ${Math.round(performance.now() - begun)} ms, others ${
      shown(0.5)
    }/${shown(0.99)}/${shown(1)} ms, ${Math.round(memory)} MiB`;
    run.say(`${kind}: ${figures[kind]}`);
    for (const verdict of verdicts) {
      if (/^(refused|Error|Failed): /.test(verdict)) ended++;
      else violations.push(`${kind}: ${verdict}`);
    }
    if (memory > MEMORY) violations.push(`${kind}: ${Math.round(memory)} MiB`);
  }
  for (const neighbour of neighbours) await neighbour.stop();
  const times = neighbours.flatMap((one) => one.times);
  violations.push(...neighbours.flatMap(({ failures }) => failures).slice(0, 10));
  const p99 = Math.round(quantile(times, 0.99));
  if (p99 > (run.isShort ? 10 : 1) * PATIENCE_MS) violations.push(`others waited ${p99} ms`);
  for (let index = 0; index < replicas; index++) {
    const lost = arena.server(index).log.filter((line) => /"msg":"(shard|lease) lost"/.test(line));
    violations.push(...lost.slice(0, 3));
  }
  figures["others"] = `${times.length} calls, p50 ${
    Math.round(quantile(times, 0.5))
  } ms, p99 ${p99} ms`;
  const wanted = copies * Object.keys(KINDS).length;
  return { violations, alive: { done: ended, wanted }, figures };
}

/** Submits a manifest and waits for its end: `refused: …`, or its phase and message. */
async function verdictOn(arena: Arena, name: string, spec: Spec): Promise<string> {
  const workflow = { metadata: { name }, spec };
  const { status, body } = await call(arena.anyUrl(), "POST", WORKFLOWS, { workflow })
    .catch((cause: Error) => ({ status: 0, body: { message: cause.message } }));
  if (status === 400) return `refused: ${String(body["message"]).slice(0, 120)}`;
  if (status !== 200) return `answered ${status} ${JSON.stringify(body).slice(0, 200)}`;
  const fields = "fields=status.phase,status.message,status.finishedAt";
  for (const endsAt = performance.now() + 900_000; performance.now() < endsAt;) {
    const list =
      `${WORKFLOWS}?${fields},items.status.phase,items.status.message&listOptions.fieldSelector=${
        encodeURIComponent(`metadata.name=${name}`)
      }`;
    // Whether anybody is kept waiting is seen by the neighbours.
    const answer = await call(arena.anyUrl(), "GET", list).catch(() => undefined);
    const [item] = (answer?.body["items"] ?? []) as { status?: Record<string, string> }[];
    const { phase = "", message = "" } = item?.status ?? {};
    if (["Error", "Failed", "Succeeded"].includes(phase)) {
      return `${phase}: ${message.slice(0, 120)}`;
    }
    await wait(300);
  }
  return "does not end";
}

export const EXPLOSION_SCENARIOS: readonly Scenario[] = [
  {
    name: "F24-exploding-workflows",
    about:
      "manifests that grow without end, five at once on three replicas: each is refused or ends in Error, others are answered, no lease is lost",
    seconds: 300,
    short: 60,
    run: async (run) => await explode(run, (await arenaRedis(run, ALWAYS)).url, 3),
  },
  {
    name: "F24-exploding-workflows-sqlite",
    about: "the same on one server with SQLite",
    seconds: 300,
    run: async (run) => await explode(run, `sqlite:${join(await arenaFolder(run), "store")}`, 1),
  },
];
