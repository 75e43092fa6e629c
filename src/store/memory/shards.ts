/** Mailboxes, commits and actors of the memory adapter. Each call is one turn of the event loop, hence atomic. */
import { partsByKey } from "../../base/part_text.ts";
import type { Json } from "../../base/json.ts";
import type { MemoryShard, MemoryState } from "./state.ts";
import { publish, shardOf } from "./state.ts";
import type {
  ActorChange,
  Answer,
  Change,
  Command,
  IndexEntry,
  MailboxEntry,
  ShardCommit,
  ShardStore,
} from "../port.ts";
import { sizeOfParts } from "../list_query.ts";
import { ActorExists, NODE_PART_PREFIX, StaleEpoch } from "../port.ts";
import { takeTurns } from "../take_turns.ts";

/** The methods are properties, so that a wrapper can replace some of them. */
export class MemoryShards implements ShardStore {
  readonly #state: MemoryState;
  #reads = 0;

  constructor(state: MemoryState) {
    this.#state = state;
  }

  readonly append: ShardStore["append"] = (entries) => {
    const state = this.#state;
    for (const { shard, command } of entries) {
      shardOf(state, shard).mail.push({ seq: ++state.seq, text: JSON.stringify(command) });
      state.wakeups.wake(`mail:${shard}`);
    }
    return Promise.resolve();
  };

  readonly readMailboxes: ShardStore["readMailboxes"] = async (after, max, waitMs, signal) => {
    const { wakeups } = this.#state;
    const topics = after.map(({ shard }) => `mail:${shard}`);
    const deadline = wakeups.clock.monotonic() + waitMs;
    while (true) {
      const entries = takeTurns(after, this.#reads++)
        .flatMap(({ shard, cursor }) => mailAfter(this.#state, shard, cursor));
      if (entries.length > 0) return entries.slice(0, max);
      const leftMs = deadline - wakeups.clock.monotonic();
      if (leftMs <= 0 || signal.aborted || this.#state.closed) return [];
      await wakeups.wait(topics, leftMs, signal);
    }
  };

  // deno-lint-ignore require-await -- so that refusals are rejections
  readonly commit: ShardStore["commit"] = async (commit) => {
    const state = this.#state;
    const shard = shardOf(state, commit.shard);
    if (shard.epoch !== commit.epoch) throw new StaleEpoch(commit.shard);
    const { follows } = commit;
    if (follows && (shard.outbox.get(follows.row) ?? "") !== follows.text) {
      throw new StaleEpoch(commit.shard, `Shard ${commit.shard} has lost a commit`);
    }
    assertCreatable(state, commit.actors);
    const versions: Record<string, string> = {};
    for (const change of commit.actors) {
      const version = changeActor(state, change);
      if (version !== undefined) versions[change.id] = version;
    }
    changeShard(shard, commit, versions);
    return { versions };
  };

  readonly loadShard: ShardStore["loadShard"] = (number, maxTimers) => {
    const { cursor, outbox, timers } = shardOf(this.#state, number);
    const first = [...timers].sort(([, a], [, b]) => a - b).slice(0, maxTimers);
    return Promise.resolve({
      cursor,
      outbox: Object.fromEntries(outbox),
      timers: Object.fromEntries(first),
    });
  };

  readonly loadActor: ShardStore["loadActor"] = (_shard, id, bounds) => {
    const actor = this.#state.actors.get(id);
    if (actor === undefined) return Promise.resolve(undefined);
    const parts = Object.fromEntries(actor.parts);
    const nodes = Object.keys(parts).filter(isNode).length;
    const isTooLarge = bounds !== undefined &&
      (nodes > bounds.maxNodes || sizeOfParts(parts) > bounds.maxSize);
    const stored = { id, version: String(actor.version), parts };
    return Promise.resolve(
      isTooLarge ? { ...stored, parts: withoutNodes(parts), withoutNodes: true } : stored,
    );
  };

  readonly readRemains: ShardStore["readRemains"] = (_shard, name, cursor, max) => {
    const left = this.#state.remains.get(name) ?? [];
    const end = Number(cursor) + max;
    return Promise.resolve({
      parts: Object.fromEntries(left.slice(Number(cursor), end)),
      ...(end < left.length && { next: String(end) }),
    });
  };

  readonly dropRemains: ShardStore["dropRemains"] = (_shard, name) => {
    this.#state.remains.delete(name);
    return Promise.resolve();
  };

  readonly findAnswers: ShardStore["findAnswers"] = (number, keys) => {
    const found: Record<string, Answer> = {};
    for (const key of keys) {
      const answer = shardOf(this.#state, number).answers.get(key);
      if (answer !== undefined && answer.expiresAt > this.#state.now()) {
        found[key] = structuredClone(answer);
      }
    }
    return Promise.resolve(found);
  };

  readonly reply: ShardStore["reply"] = (replica, answers) => {
    for (const hear of this.#state.listeners.get(replica) ?? []) {
      for (const { request, answer } of answers) hear(request, JSON.stringify(answer));
    }
    return Promise.resolve();
  };

  readonly onReply: ShardStore["onReply"] = (replica, hear, signal) => {
    if (signal.aborted) return Promise.resolve();
    const listeners = this.#state.listeners.get(replica) ?? new Set();
    this.#state.listeners.set(replica, listeners);
    const listener = (request: string, answer: string) =>
      queueMicrotask(() => hear(request, JSON.parse(answer) as Json));
    listeners.add(listener);
    signal.addEventListener("abort", () => listeners.delete(listener), { once: true });
    return Promise.resolve();
  };
}

function mailAfter(state: MemoryState, shard: number, cursor: string): MailboxEntry[] {
  return shardOf(state, shard).mail
    .filter(({ seq }) => seq > Number(cursor))
    .map(({ seq, text }) => ({
      shard,
      cursor: String(seq),
      command: JSON.parse(text) as Command,
    }));
}

function assertCreatable(state: MemoryState, changes: ActorChange[]): void {
  const exists = new Map<string, boolean>();
  for (const { id, create, remove } of changes) {
    if (create === true && (exists.get(id) ?? state.actors.has(id))) throw new ActorExists(id);
    exists.set(id, remove !== true);
  }
}

function changeActor(state: MemoryState, change: ActorChange): string | undefined {
  const { id } = change;
  const before = state.actors.get(id);
  if (change.remove === true) {
    if (before === undefined) return undefined;
    state.actors.delete(id);
    const version = String(++state.version);
    const keys = [...before.parts.keys()];
    if (change.remains !== undefined) state.remains.set(change.remains, [...before.parts]);
    if (change.silent !== true) {
      const index = before.index && { index: before.index };
      const shown = change.remains === undefined ? keys : keys.filter((key) => !isNode(key));
      const texts = beforeOf(before.parts, shown);
      publish(state, { type: "DELETED", id, version, put: {}, drop: [], ...texts, ...index });
    }
    return version;
  }
  const actor = before ?? { version: 0, parts: new Map<string, string>(), index: undefined };
  state.actors.set(id, actor);
  const texts = beforeOf(actor.parts, [...change.put.map(({ key }) => key), ...change.drop]);
  for (const key of change.drop) actor.parts.delete(key);
  for (const { key, text } of change.put) actor.parts.set(key, text);
  if (change.index !== undefined) actor.index = copyOf(change.index);
  actor.version = ++state.version;
  const version = String(actor.version);
  if (change.silent !== true) {
    publish(state, {
      type: before === undefined ? "ADDED" : "MODIFIED",
      id,
      version,
      put: partsByKey(change.put),
      drop: [...change.drop],
      ...texts,
      ...(actor.index && { index: actor.index }),
    });
  }
  return version;
}

/** The texts of these parts before a change. */
function beforeOf(parts: ReadonlyMap<string, string>, keys: string[]): Pick<Change, "before"> {
  const texts = keys.flatMap((key) => {
    const text = parts.get(key);
    return text === undefined ? [] : [[key, text] as const];
  });
  return texts.length === 0 ? {} : { before: Object.fromEntries(texts) };
}

function changeShard(
  shard: MemoryShard,
  commit: ShardCommit,
  versions: Record<string, string>,
): void {
  for (const id of commit.outboxDrop) shard.outbox.delete(id);
  for (const [id, text] of Object.entries(commit.outboxPut)) shard.outbox.set(id, text);
  for (const id of commit.timersClear) shard.timers.delete(id);
  for (const [id, due] of Object.entries(commit.timersSet)) shard.timers.set(id, due);
  for (const { actor = "", ...answer } of commit.answers) {
    const version = versions[actor] ?? answer.version;
    shard.answers.set(
      answer.key,
      structuredClone({ ...answer, ...(version !== undefined && { version }) }),
    );
  }
  const { cursor } = commit;
  if (cursor === undefined) return;
  shard.cursor = cursor;
  shard.mail = shard.mail.filter(({ seq }) => seq > Number(cursor));
}

function isNode(key: string): boolean {
  return key.startsWith(NODE_PART_PREFIX);
}

function withoutNodes(parts: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(parts).filter(([key]) => !isNode(key)));
}

function copyOf(index: IndexEntry): IndexEntry {
  return { ...index, labels: { ...index.labels } };
}
