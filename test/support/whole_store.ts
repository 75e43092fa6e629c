/** A store with everything in it, through the port as a server uses it; and what a dump finds there. */
import { partTexts } from "../../src/base/part_text.ts";
import fc from "fast-check";
import { shardOf, workflowActorId } from "../../src/actors/actor_ids.ts";
import { timerRowId } from "../../src/actors/timers.ts";
import { ManifestKind } from "../../src/spec/manifest.ts";
import type { StoreRecord, StoreSource, StoreTarget } from "../../src/store/dump.ts";
import { canonical } from "../../src/store/dump_tally.ts";
import type { Delivery } from "../../src/store/event_port.ts";
import type { ActorId, Store } from "../../src/store/port.ts";
import { acquired, changeOf, commitOf, entryOf } from "../contract/store/store_setting.ts";

/** Later than any run of the tests. */
const FAR_MS = 86_400_000;

export interface Content {
  workflows: {
    name: string;
    phase: string;
    isWaiting: boolean;
    labels: Record<string, string>;
    spec: string;
    nodes: string[];
    hasLeftRemains: boolean;
    timer: number | undefined;
    effect: string | undefined;
    commands: number;
    hasAnswer: boolean;
  }[];
  manifests: { kind: ManifestKind; name: string; text: string }[];
  events: { text: string; state: "new" | "taken" | "retried" | "done" | "dead"; key: string }[];
  blobs: { key: string; size: number; piece: number }[];
}

const text = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: "grapheme", maxLength: 20 }),
  fc.constantFrom("", "ü\n\u0001", '{"a":[]}', "a".repeat(300), "😀".repeat(70)),
);
const word = fc.stringMatching(/^[a-z][a-z0-9-]{0,12}$/);

export const contents: fc.Arbitrary<Content> = fc.record({
  workflows: fc.uniqueArray(
    fc.record({
      name: word,
      phase: fc.constantFrom("", "Pending", "Running", "Succeeded", "Failed", "Error"),
      isWaiting: fc.boolean(),
      labels: fc.dictionary(word, word, { maxKeys: 3 }),
      spec: fc.oneof(text, fc.constantFrom(...["one", "two"].map((name) => name.repeat(100)))),
      nodes: fc.array(text, { maxLength: 5 }),
      hasLeftRemains: fc.boolean(),
      timer: fc.option(fc.integer({ min: 1, max: 4e12 }), { nil: undefined }),
      effect: fc.option(text, { nil: undefined }),
      commands: fc.nat(3),
      hasAnswer: fc.boolean(),
    }),
    { selector: ({ name }) => name, maxLength: 12 },
  ),
  manifests: fc.uniqueArray(
    fc.record({ kind: fc.constantFrom(...Object.values(ManifestKind)), name: word, text }),
    { selector: ({ kind, name }) => `${kind}/${name}`, maxLength: 6 },
  ),
  events: fc.array(
    fc.record({
      text,
      state: fc.constantFrom("new", "taken", "retried", "done", "dead"),
      key: fc.constantFrom("", "key", "a b"),
    }),
    { maxLength: 8 },
  ),
  blobs: fc.uniqueArray(
    fc.record({
      key: word,
      size: fc.constantFrom(0, 1, 65_536, 150_000),
      piece: fc.constantFrom(7_000, 65_536),
    }),
    { selector: ({ key }) => key, maxLength: 4 },
  ),
});

/** Fills a store of this many shards; nobody has it at the end. */
export async function fillStore(store: Store, content: Content, shards: number): Promise<void> {
  await store.membership.shardCount(shards);
  const now = await store.membership.now();
  const placeOf = (actor: ActorId) => shardOf(actor, shards);
  for (const { name, ...workflow } of content.workflows) {
    const actor = workflowActorId("ns", name);
    const shard = placeOf(actor);
    const epoch = await acquired(store, shard);
    const index = entryOf(actor, {
      phase: workflow.phase,
      labels: workflow.labels,
      ...(workflow.isWaiting && { waitsSince: 5_000 }),
    });
    const nodes = Object.entries(workflow.nodes).map(([at, node]) => [`n:${at}`, node]);
    const put = partTexts({
      h: `{"name":"${name}"}`,
      s: workflow.spec,
      x: "other",
      ...Object.fromEntries(nodes),
    });
    await store.shards.commit(commitOf(shard, epoch, {
      actors: [changeOf(actor, { put, create: true, index })],
      outboxPut: {
        "!": `${epoch}.mark`,
        ...(workflow.effect !== undefined && {
          [`send/${actor}/x/1`]: JSON.stringify({ actor, seq: 1, text: workflow.effect }),
        }),
      },
      timersSet: workflow.timer === undefined ? {} : { [timerRowId(actor, "t 1")]: workflow.timer },
      answers: workflow.hasAnswer
        ? [{
          key: `["me","ns","${name}"]`,
          fingerprint: "f",
          answer: { metadata: { namespace: "ns", name } },
          expiresAt: now + FAR_MS,
          actor,
        }]
        : [],
    }));
    if (workflow.hasLeftRemains) {
      const gone = workflowActorId("ns", `${name}-gone`);
      const other = placeOf(gone);
      const again = other === shard ? epoch : await acquired(store, other);
      await store.shards.commit(commitOf(other, again, {
        actors: [
          changeOf(gone, { put, create: true }),
          changeOf(gone, { remove: true, remains: `${gone}#abc` }),
        ],
      }));
      if (other !== shard) await store.membership.release({ shard: other, epoch: again });
    }
    for (let at = 0; at < workflow.commands; at++) {
      const command = { id: `c${at}`, actor, body: { type: "wake", at } };
      await store.shards.append([{ shard, command }]);
    }
    await store.membership.release({ shard, epoch });
  }
  const locks = placeOf("locks");
  const epoch = await acquired(store, locks);
  await store.shards.commit(commitOf(locks, epoch, {
    actors: [changeOf("locks", { put: partTexts({ t: "{}" }), silent: true })],
  }));
  await store.membership.release({ shard: locks, epoch });
  for (const { kind, name, text } of content.manifests) {
    await store.manifests.put(
      { kind, namespace: "ns", name, text, labels: { a: name } },
      undefined,
    );
  }
  await fillEvents(store, content, now);
  for (const { key, size, piece } of content.blobs) {
    await store.blobs.putBlob(key, new Uint8Array());
    for (let at = 0; at < size; at += piece) {
      const bytes = new Uint8Array(Math.min(piece, size - at)).map((_, index) =>
        (at + index) % 251
      );
      await store.blobs.appendBlob(key, bytes, 1e9);
    }
  }
}

async function fillEvents({ events }: Store, content: Content, now: number): Promise<void> {
  for (const [at, { text, key, state }] of content.events.entries()) {
    const id = `e${at}`;
    const facts = { id, namespace: "ns", discriminator: "d", receivedAt: now - 100 + at };
    const dedupe = key === ""
      ? undefined
      : { key: `${key}${at}`, fingerprint: "f 1", expiresAt: now + FAR_MS };
    await events.offer({ ...facts, text, size: 3 }, 1_000, dedupe);
    if (state === "new") continue;
    // Taken together with all that are new: they stay with this worker.
    await events.take("w", 100, 1e9, 0, new AbortController().signal);
    const delivery: Delivery = { ...facts, size: 3, attempts: 1, bindings: [], state: "queued" };
    if (state === "retried") {
      await events.retryLater({ ...delivery, retryAt: now + 2 * FAR_MS }, FAR_MS);
    } else if (state !== "taken") await events.finish([{ ...delivery, state, event: text }]);
  }
}

/** What a source or a target holds, as texts in an order of their own; parts by themselves. */
export async function dumpOf(source: Pick<StoreSource | StoreTarget, "read">): Promise<string[]> {
  const found: string[] = [];
  for await (const batch of source.read?.() ?? []) {
    for (const record of batch) found.push(...textsOf(record));
  }
  return found.sort();
}

function textsOf(record: StoreRecord): string[] {
  if (!("parts" in record)) return [canonical(record)];
  const { parts, type, ...rest } = record;
  const owner = "actor" in record ? record.actor : record.name;
  const texts = Object.entries(parts).map(([key, part]) =>
    canonical({ part: owner, key, text: part })
  );
  return type === "actor" ? [canonical(rest), ...texts] : texts;
}
