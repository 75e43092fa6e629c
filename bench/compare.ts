// deno-lint-ignore-file no-console -- a program for the terminal
/**
 * Compares two checkouts: what a submit, an event, an event that becomes a workflow, and a resume cost in processor
 * time of the server and of its Redis. The checkouts alternate, so a machine that gets slower slows both.
 *
 * Run: deno run -A bench/compare.ts OTHER_FOLDER [WORK…] [--rounds 5] [--batch 3000] [--env NAME=VALUE]…
 * Variables are for the server of this checkout only, for example those that ask for traces. Each figure is the median of the rounds, in microseconds; the ratio is the median of the rounds' ratios. On a busy
 * machine the ratio of the lower quartiles, "of the quiet rounds", says more, because other programs can only add to a
 * figure.
 */
import { resolve } from "node:path";
import process from "node:process";
import { startFlags } from "../test/support/start_flags.ts";
import { each, idle, type Send, type Side, startSide } from "./support/side.ts";
import { quantile } from "../test/support/quantile.ts";

const WAIT = { name: "wait", inputs: { parameters: [{ name: "uuid" }] }, suspend: {} };
const SPEC = {
  entrypoint: "wait",
  arguments: { parameters: [{ name: "uuid", value: "none" }] },
  templates: [WAIT],
};

interface Work {
  prepare?: (send: Send) => Promise<unknown>;
  /** Sent before each round and not counted. */
  before?: (send: Send, round: string, i: number) => Promise<unknown>;
  once(send: Send, round: string, i: number): Promise<unknown>;
}

const submit = (send: Send, round: string, i: number, namespace = "load"): Promise<unknown> => {
  const name = `${round}-${i}`;
  const args = { parameters: [{ name: "uuid", value: name }] };
  return send("POST", `/api/v1/workflows/${namespace}`, {
    workflow: { metadata: { name }, spec: { ...SPEC, arguments: args } },
  });
};

const WORKS: Record<string, Work> = {
  submit: { once: submit },
  event: {
    once: (send, _, i) => send("POST", "/api/v1/events/quiet/", { id: i, message: "hello" }),
  },
  binding: {
    prepare: async (send) => {
      await send("POST", "/api/v1/workflow-templates/bound", {
        template: { metadata: { name: "wait" }, spec: SPEC },
      });
      await send("POST", "/api/v1/workflow-event-bindings/bound", {
        binding: {
          metadata: { name: "load" },
          spec: {
            event: { selector: "payload.id != nil" },
            submit: {
              workflowTemplateRef: { name: "wait" },
              arguments: { parameters: [{ name: "uuid", valueFrom: { event: "payload.id" } }] },
            },
          },
        },
      });
    },
    once: (send, round, i) => send("POST", "/api/v1/events/bound/", { id: `${round}-${i}` }),
  },
  resume: {
    before: (send, round, i) => submit(send, round, i, "resumed"),
    once: (send, round, i) =>
      send("PUT", `/api/v1/workflows/resumed/${round}-${i}/resume`, {
        nodeFieldSelector: `inputs.parameters.uuid.value=${round}-${i}`,
      }),
  },
};

function startServer(folder: string, env: Record<string, string> = {}): Promise<Side> {
  const bound = ["--event-operation-queue-size", "100000", "--log-level", "warn"];
  return startSide({
    folder,
    env,
    args: (port, url) => [
      ...[...startFlags(folder), "--no-check", "src/main.ts"],
      ...["--port", String(port), "--store", url, ...bound],
    ],
  });
}

async function cost(
  side: Side,
  { before, once }: Work,
  round: string,
  batch: number,
): Promise<{ server: number; redis: number }> {
  if (before !== undefined) await each(batch, (i) => before(side.send, round, i));
  await idle(side);
  const start = side.spent();
  await each(batch, (i) => once(side.send, round, i));
  await idle(side);
  const end = side.spent();
  return {
    server: (end.server - start.server) / batch,
    redis: (end.redis - start.redis) / batch,
  };
}

async function main(argv: string[]): Promise<void> {
  const option = (name: string, byDefault: number) => {
    const at = argv.indexOf(name);
    return at < 0 ? byDefault : Number(argv.splice(at, 2)[1]);
  };
  const rounds = option("--rounds", 5);
  const batch = option("--batch", 3_000);
  const env: Record<string, string> = {};
  for (let at = argv.indexOf("--env"); at >= 0; at = argv.indexOf("--env")) {
    const [, pair = ""] = argv.splice(at, 2);
    env[pair.slice(0, pair.indexOf("="))] = pair.slice(pair.indexOf("=") + 1);
  }
  const [other, ...names] = argv;
  if (other === undefined) throw new Error("Which folder? bench/compare.ts OTHER_FOLDER [WORK…]");
  const unknown = names.find((name) => !(name in WORKS));
  if (unknown !== undefined) {
    throw new Error(`No work is called ${unknown}: choose from ${Object.keys(WORKS).join(", ")}`);
  }
  const sides = [await startServer(resolve(other)), await startServer(process.cwd(), env)];
  try {
    for (const [name, work] of Object.entries(WORKS)) {
      if (names.length > 0 && !names.includes(name)) continue;
      const found = sides.map(() => ({ server: [] as number[], redis: [] as number[] }));
      for (const side of sides) {
        await work.prepare?.(side.send);
        await cost(side, work, `${name}-w`, batch);
      }
      for (let round = 0; round < rounds; round++) {
        // Each checkout goes first in turn.
        for (const at of round % 2 === 0 ? [0, 1] : [1, 0]) {
          const side = sides[at];
          const figures = found[at];
          if (side === undefined || figures === undefined) continue;
          const { server, redis } = await cost(side, work, `${name}-${round}`, batch);
          figures.server.push(server);
          figures.redis.push(redis);
        }
      }
      const [theirs, ours] = found;
      if (theirs === undefined || ours === undefined) continue;
      const sum = (f: typeof ours) => f.server.map((value, i) => value + (f.redis[i] ?? 0));
      const ratios = sum(ours).map((value, i) => value / (sum(theirs)[i] ?? 1));
      const show = (f: typeof ours) =>
        `${quantile(f.server, 0.5).toFixed(0)} + ${quantile(f.redis, 0.5).toFixed(0)} us`;
      const lowest = quantile(sum(ours), 0.25) / quantile(sum(theirs), 0.25);
      console.log(
        `${name}: ${show(theirs)} there, ${show(ours)} here, ratio ${
          quantile(ratios, 0.5).toFixed(3)
        } (${ratios.map((ratio) => ratio.toFixed(2)).join(" ")}); of the quiet rounds ${
          lowest.toFixed(3)
        }`,
      );
    }
  } finally {
    for (const side of sides) side.stop();
  }
}

await main(process.argv.slice(2));
