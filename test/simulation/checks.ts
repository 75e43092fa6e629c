/**
 * What must be true when a simulated deployment has come to rest: the design's statements, as far as they show there.
 */
import { workflowActorId } from "../../src/actors/actor_ids.ts";
import { loadWorkflow } from "../../src/engine/codec.ts";
import { isCompleted } from "../../src/engine/records.ts";
import { viewWorkflow } from "../../src/engine/view.ts";
import { eventWorkflowUid } from "../../src/service/events/identity.ts";
import type { Workflow } from "../../src/spec/manifest.ts";
import { gateCalls, type GateCommand, gateModel, refusalOf } from "../support/gate_model.ts";
import { type Call, checkLinearizable } from "../support/linearizability.ts";
import { CRON_MS, cronDueOf, expectedOf, NAMESPACE, WORKFLOW_KINDS } from "./catalogue.ts";
import type { Op } from "./client.ts";
import { expectedTree, treeOf } from "./expected_tree.ts";
import { OP_LABEL } from "./ledger.ts";
import { HOT_ACTORS, SHARDS, TALLIES } from "./replica.ts";
import type { World } from "./world.ts";

const TREES = new Map(WORKFLOW_KINDS.map((kind) => [kind as string, expectedTree(kind)]));

/** What is wrong; empty if everything is right. */
export async function check(world: World): Promise<string[]> {
  return [
    ...world.wrong,
    ...world.client.wrong,
    ...world.ledger.wrong,
    ...await atRest(world),
    ...await talliesAreExact(world),
    ...commandsAreKept(world),
    ...eventsAreKept(world),
    ...await treesAreAsExpected(world),
    ...cronIsKept(world),
    ...gateIsLinearizable(world),
    ...await urlIsUsedOnce(world),
  ];
}

/** Everything goes on, ends, and leaves nothing behind. */
async function atRest({ client, ledger, store, replicas, runningTasks }: World): Promise<string[]> {
  const wrong: string[] = [];
  if (client.pending > 0) wrong.push(`${client.pending} commands never came back`);
  for (const { id } of ledger.openEvents) wrong.push(`event ${id} is still in the queue`);
  const depth = await store.events.depth();
  if (depth !== ledger.openEvents.length) wrong.push(`${depth} events are in the queue`);
  for (const name of ledger.lives.keys()) {
    const life = ledger.lifeOf(name);
    if (life && !isCompleted(life.phase)) wrong.push(`${name} never ended: ${life.phase}`);
    if (life?.labels["kind"] === "ttl") wrong.push(`${name} was not removed`);
  }
  for (const { id, workflow } of runningTasks) {
    if (!workflow.startsWith("t")) wrong.push(`task ${id} still runs`);
  }
  for (let shard = 0; shard < SHARDS; shard++) {
    const { outbox, timers, cursor } = await store.shards.loadShard(shard);
    const rows = Object.keys(outbox).filter((id) => id !== "!");
    if (rows.length > 0) wrong.push(`shard ${shard} has effects left: ${rows.join(", ")}`);
    const left = Object.keys(timers);
    if (left.length > 0) wrong.push(`shard ${shard} has timers left: ${left.join(", ")}`);
    const mail = await store.shards.readMailboxes(
      [{ shard, cursor }],
      10,
      0,
      AbortSignal.abort(),
    );
    if (mail.length > 0) wrong.push(`shard ${shard} has ${mail.length} commands left`);
  }
  for (const { process, host } of replicas) {
    if (host.hot > HOT_ACTORS) wrong.push(`${process.name} keeps ${host.hot} actors in memory`);
  }
  return wrong;
}

/** Every command to a tally was applied exactly once, or not at all if nobody got an answer. */
async function talliesAreExact({ client, store, tallies }: World): Promise<string[]> {
  const wrong: string[] = [];
  for (const { name } of tallies) {
    const actor = await store.shards.loadActor(0, workflowActorId(TALLIES, name));
    const count = Number(actor?.parts["count"]);
    const found = {
      add: count % 100,
      task: Math.floor(count / 100) % 100,
      timer: Math.floor(count / 10_000),
    };
    const own = client.ops.filter(({ target }) => target === name);
    for (const kind of ["add", "task", "timer"] as const) {
      const sent = own.filter(({ what }) => what === kind);
      const answered = sent.filter(({ outcome }) => outcome.type === "ok");
      if (found[kind] < answered.length || found[kind] > sent.length) {
        wrong.push(
          `${name} ${kind}: sent ${sent.length}, answered ${answered.length}, applied ${
            found[kind]
          }`,
        );
      }
    }
    const adds = answersOf(own);
    for (const one of adds) {
      // An answer may include later commands, but never less than what was known before its own was sent.
      const known = adds.filter(({ heardAt }) => heardAt < one.calledAt).map(({ adds }) => adds);
      if (Math.max(0, ...known) >= one.adds || one.adds > found.add) {
        wrong.push(`${name}: answered ${one.adds} after ${known}, ended with ${found.add}`);
      }
    }
  }
  return wrong;
}

function answersOf(ops: readonly Op[]): { adds: number; calledAt: number; heardAt: number }[] {
  return ops.flatMap(({ what, outcome, calledAt, heardAt }) =>
    what === "add" && outcome.type === "ok"
      ? [{ adds: (outcome.answer as { count: number }).count % 100, calledAt, heardAt }]
      : []
  );
}

/** What was answered exists; what was refused does not. */
function commandsAreKept({ client, ledger, coverage }: World): string[] {
  const wrong: string[] = [];
  const births = new Map(
    [...ledger.lives.values()].flat().map((life) => [life.uid, life] as const),
  );
  for (const op of client.ops) {
    const { what, target, outcome, id, isOpen } = op;
    if (outcome.type === "ok" && what === "create") {
      coverage.add("create: applied");
      const { uid = "" } = (outcome.answer as Workflow).metadata;
      if (!births.has(uid)) wrong.push(`${target}: ${uid} was answered and never made`);
    } else if (outcome.type === "ok" && what === "delete") {
      coverage.add("delete: applied");
      if (!ledger.lives.get(target)?.some(({ isRemoved }) => isRemoved)) {
        wrong.push(`${target}: its deletion was answered and not done`);
      }
    }
    const verb = what.split("-")[0] ?? "";
    if (!isControl(verb)) continue;
    const times = ledger.applied.get(`${OP_LABEL}${id}`) ?? 0;
    if (times > 1) wrong.push(`${what} of ${target} was applied ${times} times`);
    // A deletion in the same commit leaves no trace of it.
    const wasRemoved = ledger.lives.get(target)?.some(({ isRemoved }) => isRemoved) ?? false;
    if (outcome.type === "ok" && times === 0 && !wasRemoved) {
      wrong.push(`${what} of ${target} is lost`);
    }
    if (outcome.type === "refused" && !isOpen && times > 0) {
      wrong.push(`${what} of ${target} was refused and applied`);
    }
    if (times > 0) coverage.add(`${verb}: applied`);
  }
  return wrong;
}

const CONTROLS = ["suspend", "resume", "stop", "terminate", "retry", "set"] as const;

function isControl(verb: string): verb is typeof CONTROLS[number] {
  return CONTROLS.some((one) => one === verb);
}

/** Every accepted event made one workflow for each matching binding, or left a record that says why not. */
function eventsAreKept({ client, ledger, coverage }: World): string[] {
  const wrong: string[] = [];
  const made = new Set([...ledger.lives.values()].flat().map(({ uid }) => uid));
  const expected = new Set<string>();
  let resumed = 0;
  for (const { id, payload, delivery } of ledger.events.values()) {
    if (delivery === undefined) continue;
    const { submits, isDead } = expectedOf(payload);
    const said = new Map(delivery.bindings.map((one) => [one.binding, one]));
    const isGivenUp = said.has("");
    for (const binding of submits) {
      const uid = eventWorkflowUid(id, binding);
      expected.add(uid);
      if (!made.has(uid) && !isGivenUp) wrong.push(`event ${id}: no workflow for ${binding}`);
      if (said.get(binding)?.outcome !== "submitted" && !isGivenUp) {
        wrong.push(`event ${id}: the record says ${JSON.stringify(said.get(binding))}`);
      }
    }
    if (payload.kind !== "callback" && isDead !== (delivery.state === "dead")) {
      wrong.push(`event ${id} (${payload.kind}) is ${delivery.state}`);
    }
    if (isGivenUp) wrong.push(`event ${id} was given up: ${said.get("")?.message}`);
    if (payload.kind !== "callback") continue;
    const { outcome, message = "" } = said.get("callback") ?? {};
    if (outcome === "resumed") resumed++;
    else if (outcome !== "error" || message === "") {
      wrong.push(`event ${id}: its callback is ${outcome}`);
    }
  }
  coverage.add("event: callback resumed a step", resumed);
  if (resumed > 1) wrong.push(`a step was resumed by ${resumed} events`);
  for (const [name, lives] of ledger.lives) {
    if (!name.startsWith("from-event-")) continue;
    if (lives.length > 1) wrong.push(`${name} was made ${lives.length} times`);
    for (const { uid } of lives) if (!expected.has(uid)) wrong.push(`${name} belongs to no event`);
  }
  const accepted = new Set([...ledger.events.values()].map(({ payload }) => String(payload.n)));
  for (const { what, target, outcome, isKeyed } of client.ops) {
    if (what !== "event") continue;
    if (outcome.type === "ok" && !accepted.has(target)) wrong.push(`event ${target} is lost`);
    const times = [...ledger.events.values()].filter(({ payload }) => String(payload.n) === target);
    if (isKeyed && times.length > 1) wrong.push(`event ${target} was accepted twice`);
  }
  return wrong;
}

/** A workflow that nobody touched ends as it would without any fault. */
async function treesAreAsExpected({ client, ledger, store, coverage }: World): Promise<string[]> {
  const wrong: string[] = [];
  const touched = new Set(
    client.ops.filter(({ what }) => isControl(what.split("-")[0] ?? "")).map(({ target }) =>
      target
    ),
  );
  for (const name of ledger.lives.keys()) {
    const life = ledger.lifeOf(name);
    const expected = TREES.get(life?.labels["kind"] ?? "");
    if (
      !life || expected === undefined || touched.has(name) ||
      ["callback", "url"].includes(life.labels["kind"] ?? "")
    ) {
      continue;
    }
    const stored = await store.shards.loadActor(0, workflowActorId(NAMESPACE, name));
    if (!stored) continue;
    coverage.add("workflow: tree compared");
    const found = JSON.stringify(treeOf(viewWorkflow(loadWorkflow(stored.parts))));
    if (found !== JSON.stringify(expected)) {
      wrong.push(
        `${name} (${life.labels["kind"]}) ended as ${found}, not ${JSON.stringify(expected)}`,
      );
    }
  }
  return wrong;
}

/** A due time may be missed only if no replica could look at it for this long, ms. */
const CRON_GRACE_MS = 15_000;
/** How late the cron workflow may make a workflow if nothing prevents it, ms. */
const CRON_LATE_MS = 20_000;

/** A scheduled workflow is made once, never early, and is missed only if no replica was there for long. */
function cronIsKept({ cron, ledger, coverage }: World): string[] {
  if (cron === undefined) return [];
  const { madeAt, suspendedAt } = cron;
  const wrong: string[] = [];
  const runs: { due: number; bornAt: number }[] = [];
  for (const [name, lives] of ledger.lives) {
    const due = cronDueOf(name);
    if (due === undefined) continue;
    const bornAt = lives[0]?.bornAt ?? 0;
    runs.push({ due, bornAt });
    coverage.add("cron: made");
    if (bornAt > due + CRON_MS) coverage.add("cron: made late");
    if (lives.some(({ isRemoved }) => isRemoved)) coverage.add("cron: removed from its history");
    if (lives.length > 1) wrong.push(`${name} was made ${lives.length} times`);
    if (bornAt < due) wrong.push(`${name} was made ${due - bornAt} ms too early`);
    if ((due - Math.floor(madeAt / 1_000) * 1_000) % CRON_MS !== 0) {
      wrong.push(`${name} is off the beat`);
    }
    if (due > suspendedAt) wrong.push(`${name} was made after the suspension`);
  }
  let last = madeAt;
  for (const { due, bornAt } of runs.sort((a, b) => a.due - b.due)) {
    const gap = due - last;
    const isExcused = bornAt - (due - CRON_MS) > CRON_GRACE_MS;
    if (gap !== CRON_MS && !isExcused) wrong.push(`cron: ${gap} ms between two runs`);
    last = due;
  }
  if (last < suspendedAt - CRON_LATE_MS) {
    wrong.push(`cron: nothing was made in the last ${suspendedAt - last} ms`);
  }
  return wrong;
}

/** One use of the URL wins; whoever sent the same was told yes, all others no, and the step has what it said. */
async function urlIsUsedOnce({ client, ledger, store, coverage }: World): Promise<string[]> {
  const uses = client.ops.filter(({ what }) => what.startsWith("url-"));
  if (uses.length === 0 || ledger.lifeOf("url") === undefined) return [];
  const stored = await store.shards.loadActor(0, workflowActorId(NAMESPACE, "url"));
  const { status } = viewWorkflow(loadWorkflow(stored?.parts ?? {}));
  const wait = Object.values(status?.nodes ?? {}).find((node) => node.displayName === "wait");
  const n = wait?.outputs?.parameters?.[0]?.value;
  // Without a use, a user has resumed it in the end.
  const winner = wait?.phase === "Failed" ? "url-stop" : n === "-" ? "" : `url-resume-${n}`;
  const wrong: string[] = [];
  if (winner !== "" && !uses.some(({ what }) => what === winner)) {
    wrong.push(`url: nobody sent ${winner}`);
  }
  for (const { what, outcome, isOpen } of uses) {
    if (outcome.type === "ok") {
      coverage.add("callback URL: accepted");
      if (what !== winner) wrong.push(`url: ${what} was accepted, but ${winner} is in force`);
    }
    if (outcome.type !== "refused") continue;
    coverage.add("callback URL: told what happened");
    if (what === winner && !isOpen) wrong.push(`url: ${what} is in force and was refused`);
  }
  const said = uses.filter(({ what, outcome }) => what === winner && outcome.type === "ok");
  if (said.length > 1) coverage.add("callback URL: same use again", said.length - 1);
  return wrong;
}

/** The answers about the gate fit one order of the commands. */
function gateIsLinearizable({ client, coverage }: World): string[] {
  const calls = client.ops.filter(({ target }) => target === "gate").flatMap(callsOf);
  if (calls.length === 0) return [];
  coverage.add("history: checked against the model");
  const verdict = checkLinearizable(calls, gateModel);
  if (verdict.isLinearizable) return [];
  return [
    `no order of the commands on the gate fits their answers: ${JSON.stringify(calls)}; ` +
    `after ${JSON.stringify(verdict.best)} none of ${JSON.stringify(verdict.stuck)} fits`,
  ];
}

function callsOf({ what, outcome, calledAt, heardAt, isOpen }: Op): Call[] {
  const input = what as GateCommand;
  const open = () => gateCalls(input, undefined, calledAt, Infinity);
  switch (outcome.type) {
    case "unknown":
      return open();
    case "refused":
      return [
        ...gateCalls(input, refusalOf(outcome.message), calledAt, heardAt),
        ...(isOpen ? open() : []),
      ];
    case "ok":
      return gateCalls(
        input,
        what === "delete" ? "done" : outcome.answer as Workflow,
        calledAt,
        heardAt,
      );
  }
}
