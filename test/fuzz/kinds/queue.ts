/**
 * Entries of the event queue and of mailboxes, damaged or made up: events that were accepted before and after lead to their
 * workflows, commands are carried out, and what can't be read holds nobody up.
 */
import fc from "fast-check";
import { type Damage, damage, damaged } from "../grammar/damage.ts";
import { jsonValue, shortText } from "../grammar/texts.ts";
import type { FuzzKind } from "../kind.ts";
import { type Backend, BACKENDS, withRawStore } from "../stores/open_raw_store.ts";
import type { RawStore } from "../stores/raw_store.ts";
import { Life } from "../stores/session.ts";

type Change =
  | { type: "damage"; kind: "event" | "delivery" | "mail"; at: number; how: Damage }
  | { type: "add"; kind: "event" | "mail"; text: string };

interface Input {
  backend: Backend;
  changes: Change[];
}

const COMMANDS = [
  ...["submit", "import", "restore", "control", "delete", "task-started", "task-ended"],
  ...["task-progress", "task-pending", "timer-fired", "locks-granted", "locks-waiting"],
];
const MEMBERS = [
  ...["workflow", "request", "labels", "uid", "task", "outcome", "timer", "holder", "progress"],
];

const text = fc.oneof(
  jsonValue.map((value) => JSON.stringify(value)),
  jsonValue.map((payload) => JSON.stringify({ payload, metadata: {}, sender: { name: "x" } })),
  jsonValue.map((body) => JSON.stringify({ id: "x", actor: "wf/v/w0", body })),
  fc.tuple(
    fc.constantFrom(...COMMANDS),
    fc.dictionary(fc.constantFrom(...MEMBERS), jsonValue, { maxKeys: 3 }),
  ).map(([type, members]) =>
    JSON.stringify({ id: "x", actor: "wf/v/w0", body: { ...members, type } })
  ),
  fc.constantFrom(
    ...["", "{", '{"payload":1}', '{"payload":{"go":true},"metadata":null,"sender":7}'],
    '{"id":"x","actor":"wf/v/w0","body":{"type":"nothing"}}',
    '{"id":"x","actor":"nothing/v","body":{}}',
    '{"id":"x","actor":7}',
    '{"type":"submit","workflow":null}',
    '{"type":"task-ended","task":"x"}',
  ),
  shortText,
);
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({
    type: fc.constant("damage" as const),
    kind: fc.constantFrom("event" as const, "event" as const, "delivery" as const, "mail" as const),
    at: fc.nat(1_000),
    how: damage,
  }),
  fc.record({
    type: fc.constant("add" as const),
    kind: fc.constantFrom("event" as const, "mail" as const),
    text,
  }),
);

export const QUEUE: FuzzKind<Input> = {
  inputs: fc.record({
    backend: fc.constantFrom(...BACKENDS),
    changes: fc.array(change, { minLength: 1, maxLength: 24, size: "max" }),
  }),
  maxBlockMs: 250,
  outcomes: ["kept"],
  sizeOf: ({ changes }) => changes.length,
  open: () => ({
    run: (input) => withRawStore(input.backend, (raw) => run(raw, input)),
  }),
};

async function run(raw: RawStore, { changes }: Input): Promise<string> {
  const before = await Life.begin(raw, { isIdle: true });
  try {
    await raw.clear();
    await before.seed();
    // The first is damaged; the second was accepted after it, and must not wait for it.
    await before.event("v");
    await before.event("v");
    await before.event("n");
  } finally {
    await before.end();
    await raw.release();
  }
  for (const one of changes) {
    if (one.type === "add") await raw.add(one.kind, one.text);
    else {
      const records = (await raw.records(one.kind)).filter(({ name, text }) =>
        !`${name} ${text}`.includes('"n"') && !/\/n\//.test(name)
      );
      const record = records[one.at % Math.max(1, records.length)];
      await record?.write(damaged(record.text, one.how));
    }
  }
  const after = await Life.begin(raw);
  try {
    await after.checkEvent("n");
    return await after.check();
  } finally {
    await after.end();
    await raw.release();
  }
}
