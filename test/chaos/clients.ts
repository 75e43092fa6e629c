/** What clients do to the service: repeats, races, callbacks in any order, slow readers, a hot workflow. */
import { connect, type Socket } from "node:net";
import {
  call,
  countWorkflows,
  listEventWorkflows,
  prepare,
  queueEmpty,
  submits,
} from "../support/event_ledger.ts";
import { residentMib } from "../support/server_memory.ts";
import { ALWAYS, Arena, arenaRedis } from "./arena.ts";
import { EventLoad } from "./event_load.ts";
import { type ChaosRun, type Outcome, type Scenario, wait } from "./scenario.ts";

const EVENT = "/api/v1/events/default/";
const WORKFLOWS = "/api/v1/workflows/default";
const WAITING = { entrypoint: "main", templates: [{ name: "main", suspend: {} }] };

/** A call that is repeated until it is answered, as by a patient client. */
async function persist(
  url: () => string,
  ...request: [method: string, path: string, body?: unknown, headers?: Record<string, string>]
): ReturnType<typeof call> {
  for (;;) {
    try {
      const answer = await call(url(), ...request);
      if (answer.status !== 503 && answer.status !== 504) return answer;
    } catch {
      // The server was killed.
    }
    await wait(100);
  }
}

/** Ten copies of every event at once, to both replicas. One replica is killed in between. */
async function repeats(run: ChaosRun): Promise<Outcome> {
  const redis = await arenaRedis(run, ALWAYS);
  const arena = await Arena.start(run, redis.url, 2);
  await prepare(arena.anyUrl(), { every: submits("true") });
  const numbers = Array.from({ length: run.isShort ? 60 : 1_000 }, (_, n) => n);
  const keyOf = (n: number) => ({ "idempotency-key": `delivery-${n}` });
  const violations: string[] = [];
  let answered = 0;
  const sending = (async () => {
    for (let from = 0; from < numbers.length; from += 20) {
      await Promise.all(
        numbers.slice(from, from + 20).flatMap((n) =>
          Array.from({ length: 10 }, async (_, copy) => {
            const url = () => arena.server(copy % 2).url;
            const { status } = await persist(url, "POST", EVENT, { n }, keyOf(n));
            if (status === 200) answered++;
            else violations.push(`copy ${copy} of event ${n}: ${status}`);
          })
        ),
      );
    }
  })();
  await wait(300);
  await arena.kill(0);
  await arena.restart(0);
  await sending;
  // F12: the key again, with another body.
  for (const n of numbers.slice(0, 20)) {
    const { status } = await persist(() => arena.anyUrl(), "POST", EVENT, { n: -1 }, keyOf(n));
    if (status !== 422) violations.push(`another body under the key of event ${n}: ${status}`);
  }
  await queueEmpty(arena.anyUrl(), 120_000);
  const counts = await countWorkflows(arena.anyUrl());
  for (const n of numbers) {
    const count = counts.get(`every ${n}`) ?? 0;
    if (count !== 1) violations.push(`event ${n}: ${count} workflows`);
  }
  if (counts.size !== numbers.length) violations.push(`${counts.size} kinds of workflows`);
  return {
    violations,
    alive: { done: answered, wanted: numbers.length * 10 },
    figures: { events: numbers.length, answered, workflows: counts.size },
  };
}

/** The same submit and the same resume under one key, to all replicas at once: all callers get the same answer. */
async function repeatedCommands(run: ChaosRun): Promise<Outcome> {
  const redis = await arenaRedis(run, ALWAYS);
  const arena = await Arena.start(run, redis.url, 2);
  const violations: string[] = [];
  const rounds = run.isShort ? 20 : 200;
  let done = 0;
  for (let round = 0; round < rounds; round++) {
    const copies = (method: string, path: string, body: object) =>
      Promise.all(
        Array.from({ length: 6 }, (_, copy) =>
          persist(
            () => arena.server(copy % 2).url,
            method,
            path,
            body,
            {
              "idempotency-key": `${method}-${round}`,
            },
          )),
      );
    const name = `once-${round}`;
    const made = await copies("POST", WORKFLOWS, {
      workflow: { metadata: { name }, spec: WAITING },
    });
    const resumed = await copies("PUT", `${WORKFLOWS}/${name}/resume`, {
      namespace: "default",
      name,
      nodeFieldSelector: "templateName=main",
    });
    for (const [what, answers] of [["create", made], ["resume", resumed]] as const) {
      const texts = new Set(answers.map(({ status, body }) => JSON.stringify([status, body])));
      if (answers.every(({ status }) => status === 200)) done++;
      else violations.push(`${what} ${name}: ${answers.map(({ status }) => status)}`);
      if (texts.size > 1) violations.push(`${what} ${name}: ${texts.size} different answers`);
    }
    if (round === Math.floor(rounds / 2)) {
      await arena.kill(round % 2);
      await arena.restart(round % 2);
    }
  }
  return { violations, alive: { done, wanted: rounds }, figures: { rounds } };
}

/** Callbacks before the wait, twice, after the timeout, and during a stop. A replica is killed in between. */
async function callbacks(run: ChaosRun): Promise<Outcome> {
  const redis = await arenaRedis(run, ALWAYS);
  const arena = await Arena.start(run, redis.url, 2);
  const url = () => arena.anyUrl();
  await prepare(url(), {
    done: {
      event: { selector: 'discriminator == "done"' },
      resume: {
        workflow: "payload.workflow",
        nodeFieldSelector: '"templateName=main"',
        waitFor: "60s",
      },
    },
  });
  const kinds = ["early", "twice", "late", "stopped"] as const;
  const count = run.isShort ? 24 : 200;
  const violations: string[] = [];
  const phases: Record<string, number> = {};
  let done = 0;
  const callBack = (name: string) => persist(url, "POST", `${EVENT}done`, { workflow: name });
  const create = (name: string, duration?: string) => {
    const suspend = duration === undefined ? {} : { duration };
    const spec = { entrypoint: "main", templates: [{ name: "main", suspend }] };
    return persist(url, "POST", WORKFLOWS, { workflow: { metadata: { name }, spec } });
  };
  async function runOne(index: number): Promise<void> {
    const kind = kinds[index % kinds.length] ?? "early";
    const name = `${kind}-${index}`;
    const wanted = kind === "stopped" ? /^(Succeeded|Failed)$/ : /^Succeeded$/;
    if (kind === "early") {
      await callBack(name);
      await wait(run.random() * 500);
      await create(name);
    } else if (kind === "twice") {
      await create(name);
      await Promise.all([callBack(name), callBack(name)]);
    } else if (kind === "late") {
      await create(name, "1s");
      await wait(2_500);
      await callBack(name);
    } else {
      await create(name);
      const stop = { namespace: "default", name, nodeFieldSelector: "templateName=main" };
      await Promise.all([
        callBack(name),
        persist(url, "PUT", `${WORKFLOWS}/${name}/stop`, stop),
      ]);
    }
    const endsAt = performance.now() + 60_000;
    let phase = "";
    while (performance.now() < endsAt && !wanted.test(phase)) {
      await wait(200);
      const { body } = await persist(url, "GET", `${WORKFLOWS}/${name}`);
      phase = String((body["status"] as { phase?: string } | undefined)?.phase);
    }
    if (wanted.test(phase)) done++;
    else violations.push(`${name} is ${phase}`);
    phases[`${kind}${phase}`] = (phases[`${kind}${phase}`] ?? 0) + 1;
    // An ended workflow stays as it is, whoever calls back again.
    await callBack(name);
    await wait(300);
    const { body } = await persist(url, "GET", `${WORKFLOWS}/${name}`);
    const after = String((body["status"] as { phase?: string } | undefined)?.phase);
    if (after !== phase) violations.push(`${name} was ${phase} and became ${after}`);
  }
  const running = Promise.all(Array.from({ length: count }, (_, index) => runOne(index)));
  await wait(800);
  await arena.kill(0);
  await arena.restart(0);
  await running;
  return { violations, alive: { done, wanted: count }, figures: phases };
}

/**
 * A hundred clients on one workflow through three replicas, one of which is killed: one client wins, the others are
 * told so.
 */
async function races(run: ChaosRun): Promise<Outcome> {
  const redis = await arenaRedis(run, ALWAYS);
  const arena = await Arena.start(run, redis.url, 3);
  const violations: string[] = [];
  const endsAt = performance.now() + run.seconds * 1_000;
  const clients = run.isShort ? 30 : 100;
  let done = 0;
  let rounds = 0;
  for (; performance.now() < endsAt; rounds++) {
    const name = `race-${rounds}`;
    const path = `${WORKFLOWS}/${name}`;
    await persist(() => arena.anyUrl(), "POST", WORKFLOWS, {
      workflow: { metadata: { name }, spec: WAITING },
    });
    const selector = { namespace: "default", name, nodeFieldSelector: "templateName=main" };
    const wins = { resume: 0, stop: 0 };
    let unknown = 0;
    const racing = Promise.all(Array.from({ length: clients }, async (_, client) => {
      const action = client % 2 === 0 ? "resume" : "stop";
      try {
        const url = arena.server(client % 3).url;
        const { status } = await call(url, "PUT", `${path}/${action}`, selector);
        done++;
        if (status === 200) wins[action]++;
        else if (status >= 500) unknown++;
      } catch {
        unknown++;
      }
    }));
    const victim = rounds % 4 === 3 ? rounds % 3 : -1;
    if (victim >= 0) await arena.kill(victim);
    await racing;
    if (victim >= 0) await arena.restart(victim);
    let phase = "";
    for (let look = 0; look < 100 && !/Succeeded|Failed/.test(phase); look++) {
      const { body } = await persist(() => arena.anyUrl(), "GET", path);
      phase = String((body["status"] as { phase?: string }).phase);
      if (!/Succeeded|Failed/.test(phase)) await wait(100);
    }
    const total = wins.resume + wins.stop;
    if (total > 1) violations.push(`${name}: ${JSON.stringify(wins)} were answered 200`);
    if (total === 0 && unknown === 0) violations.push(`${name}: nobody won`);
    if (wins.resume > 0 && phase !== "Succeeded") violations.push(`${name}: resumed, ${phase}`);
    if (wins.stop > 0 && phase !== "Failed") violations.push(`${name}: stopped, ${phase}`);
  }
  return { violations, alive: { done, wanted: rounds * clients / 2 }, figures: { rounds, done } };
}

/**
 * Watchers that never read, watchers that read, and watchers whose half of the connection is closed, while events make
 * workflows.
 */
async function slowReaders(run: ChaosRun): Promise<Outcome> {
  const redis = await arenaRedis(run, ALWAYS);
  const arena = await Arena.start(run, redis.url, 1);
  const server = arena.server(0);
  const load = new EventLoad(run, { url: () => server.url, perSecond: run.isShort ? 40 : 150 });
  await load.start();
  await wait(2_000);
  const before = residentMib(server);
  const sockets: Socket[] = [];
  run.onEnd(() => sockets.forEach((socket) => socket.destroy()));
  const idle = run.isShort ? 100 : 2_000;
  for (let number = 0; number < idle; number++) {
    const socket = connect(server.port, "127.0.0.1");
    socket.on("error", () => {});
    // Every tenth watches everything and never reads; every tenth closes its half; the rest watch what never changes.
    const isSlow = number % 10 === 0;
    const namespace = isSlow ? "default" : "elsewhere";
    socket.write(
      `GET /api/v1/workflow-events/${namespace} HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\n\r\n`,
    );
    if (isSlow) socket.pause();
    else socket.resume();
    if (number % 10 === 1) socket.end();
    sockets.push(socket);
    if (number % 50 === 0) await wait(20);
  }
  const endsAt = performance.now() + run.seconds * 1_000;
  let most = 0;
  let slowest = 0;
  while (performance.now() < endsAt) {
    await wait(500);
    const askedAt = performance.now();
    await call(server.url, "GET", `${WORKFLOWS}?listOptions.limit=1`);
    slowest = Math.max(slowest, performance.now() - askedAt);
    most = Math.max(most, residentMib(server));
  }
  const outcome = await load.verdict(120_000);
  const growth = Math.round(most - before);
  if (growth > 250) outcome.violations.push(`${growth} MiB more with ${idle} watchers`);
  Object.assign(outcome.figures, {
    watchers: idle,
    growthMib: growth,
    slowestListMs: Math.round(slowest),
  });
  return outcome;
}

/** One workflow gets as many commands as the clients can send; its neighbour must not notice. */
async function hotKey(run: ChaosRun): Promise<Outcome> {
  const redis = await arenaRedis(run, ALWAYS);
  const arena = await Arena.start(run, redis.url, 2);
  for (const name of ["hot", "cool"]) {
    await persist(() => arena.anyUrl(), "POST", WORKFLOWS, {
      workflow: { metadata: { name }, spec: WAITING },
    });
  }
  const violations: string[] = [];
  const versions: string[] = [];
  const statuses: Record<string, number> = {};
  const endsAt = performance.now() + run.seconds * 1_000;
  const clients = Array.from({ length: run.isShort ? 16 : 64 }, async (_, client) => {
    let last = 0n;
    for (let turn = 0; performance.now() < endsAt; turn++) {
      const action = turn % 2 === 0 ? "suspend" : "resume";
      // A resume with a selector that matches nothing would only be refused.
      const path = `${WORKFLOWS}/hot/${action === "suspend" ? "suspend" : "set"}`;
      const { status, body } = await call(arena.server(client % 2).url, "PUT", path, {
        namespace: "default",
        name: "hot",
        ...(action === "suspend"
          ? {}
          : { nodeFieldSelector: "templateName=main", message: `${client}-${turn}` }),
      });
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (status !== 200) continue;
      const { resourceVersion } = body["metadata"] as { resourceVersion: string };
      versions.push(resourceVersion);
      // One client's commands follow each other, so the versions it sees must do so too.
      if (BigInt(resourceVersion) < last) violations.push(`client ${client}: versions go back`);
      last = BigInt(resourceVersion);
    }
  });
  let slowest = 0;
  while (performance.now() < endsAt) {
    const askedAt = performance.now();
    await call(arena.anyUrl(), "PUT", `${WORKFLOWS}/cool/suspend`, {});
    slowest = Math.max(slowest, performance.now() - askedAt);
    await wait(100);
  }
  await Promise.all(clients);
  if (Object.keys(statuses).some((status) => status !== "200")) {
    violations.push(`answers: ${JSON.stringify(statuses)}`);
  }
  const perSecond = Math.round(versions.length / run.seconds);
  return {
    violations,
    alive: { done: versions.length, wanted: run.seconds * 20 },
    figures: { commands: versions.length, perSecond, slowestNeighbourMs: Math.round(slowest) },
  };
}

/** Bindings and templates change, vanish and come back while events are dispatched. */
async function editedBindings(run: ChaosRun): Promise<Outcome> {
  const redis = await arenaRedis(run, ALWAYS);
  const arena = await Arena.start(run, redis.url, 2);
  const path = "/api/v1/workflow-event-bindings/default";
  const spec = (edition: number) => ({
    event: { selector: "true" },
    submit: {
      workflowTemplateRef: { name: "hold" },
      metadata: { labels: { edition: `"e${edition}"` } },
      arguments: {
        parameters: [
          { name: "n", valueFrom: { event: `string(payload.n) + "-${edition}"` } },
        ],
      },
    },
  });
  await prepare(arena.anyUrl(), { every: spec(0) });
  const violations: string[] = [];
  const accepted: number[] = [];
  const endsAt = performance.now() + run.seconds * 1_000;
  let next = 0;
  const posting = Promise.all(Array.from({ length: 8 }, async () => {
    while (performance.now() < endsAt) {
      const n = next++;
      const { status } = await persist(() => arena.anyUrl(), "POST", EVENT, { n });
      if (status === 200) accepted.push(n);
      else violations.push(`event ${n}: ${status}`);
      await wait(20);
    }
  }));
  let edits = 0;
  while (performance.now() < endsAt) {
    await wait(150);
    const url = () => arena.anyUrl();
    edits++;
    if (edits % 5 === 0) {
      await persist(url, "DELETE", `${path}/every`);
      await wait(100);
      const binding = { metadata: { name: "every" }, spec: spec(edits) };
      await persist(url, "POST", path, { binding });
    } else {
      const stored = (await persist(url, "GET", `${path}/every`)).body;
      const binding = { ...stored, spec: spec(edits) };
      await persist(url, "PUT", `${path}/every`, { binding });
    }
  }
  await posting;
  await queueEmpty(arena.anyUrl(), 120_000);
  const seen = new Map<string, number>();
  for (const { key } of await listEventWorkflows(arena.anyUrl())) {
    const [n = ""] = key.slice("every ".length).split("-");
    seen.set(n, (seen.get(n) ?? 0) + 1);
  }
  for (const [n, count] of seen) if (count > 1) violations.push(`event ${n}: ${count} workflows`);
  // An event that came while there was no binding makes no workflow: its record says so.
  let without = 0;
  for (const n of accepted) if (!seen.has(String(n))) without++;
  const { body } = await call(
    arena.anyUrl(),
    "GET",
    "/api/v1/event-deliveries/default?state=dead&limit=1",
  );
  if ((body["items"] as unknown[]).length > 0) violations.push("an event became a dead letter");
  if (without > accepted.length / 2) violations.push(`${without} events made no workflow`);
  return {
    violations,
    alive: { done: seen.size, wanted: Math.ceil(accepted.length / 2) },
    figures: { events: accepted.length, workflows: seen.size, withoutBinding: without, edits },
  };
}

export const CLIENT_SCENARIOS: readonly Scenario[] = [
  {
    name: "F11-repeated-events",
    about:
      "ten copies of every event at once to both replicas, one of them killed: one workflow each; F12: another body under the key gets 422",
    seconds: 30,
    short: 5,
    isTimed: false,
    run: repeats,
  },
  {
    name: "F12-repeated-commands",
    about:
      "six copies of each create and resume under one key, to both replicas, one of them killed: one effect, six times the same answer",
    seconds: 30,
    run: repeatedCommands,
  },
  {
    name: "F13-callbacks",
    about:
      "callbacks before the wait, twice, after the timeout, during a stop, a replica killed: the first wins, what has ended stays",
    seconds: 30,
    run: callbacks,
  },
  {
    name: "F14-races",
    about:
      "100 clients resume and stop one step through three replicas, one of them killed at times: at most one is told it did it",
    seconds: 40,
    run: races,
  },
  {
    name: "F17-slow-readers",
    about: "watchers that never read, half-closed and idle ones: bounded memory, nobody else waits",
    seconds: 40,
    run: slowReaders,
  },
  {
    name: "F18-hot-workflow",
    about: "all commands go to one workflow: in order, none refused, its neighbour is answered",
    seconds: 20,
    run: hotKey,
  },
  {
    name: "F20-edited-bindings",
    about:
      "a binding is edited, deleted and made again while events are dispatched: at most one workflow for each event",
    seconds: 30,
    run: editedBindings,
  },
];
