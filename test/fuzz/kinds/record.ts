/** Stored records that are damaged while nobody looks: the service starts over them, and only they are lost. */
import fc from "fast-check";
import { type Damage, damage, damaged } from "../grammar/damage.ts";
import type { FuzzKind } from "../kind.ts";
import { type Backend, BACKENDS, withRawStore } from "../stores/open_raw_store.ts";
import type { RawStore, RecordKind } from "../stores/raw_store.ts";
import { Life, VICTIM } from "../stores/session.ts";

interface Input {
  backend: Backend;
  /** `at` chooses among the records of the kind. */
  damages: { kind: RecordKind; at: number; how: Damage }[];
}

const KINDS: readonly RecordKind[] = [
  ...(["part", "part", "part", "index", "outbox", "timer", "answer", "feed", "manifest"] as const),
];

export const RECORD: FuzzKind<Input> = {
  inputs: fc.record({
    backend: fc.constantFrom(...BACKENDS),
    damages: fc.array(
      fc.record({ kind: fc.constantFrom(...KINDS), at: fc.nat(1_000), how: damage }),
      { minLength: 1, maxLength: 24, size: "max" },
    ),
  }),
  maxBlockMs: 250,
  outcomes: ["kept", "lost"],
  sizeOf: ({ damages }) => damages.length,
  open: () => ({
    run: (input) => withRawStore(input.backend, (raw) => run(raw, input)),
  }),
};

async function run(raw: RawStore, { damages }: Input): Promise<string> {
  const before = await Life.begin(raw);
  try {
    await raw.clear();
    await before.seed();
  } finally {
    await before.end();
    await raw.release();
  }
  for (const { kind, at, how } of damages) {
    const records = (await raw.records(kind)).filter(({ name, text }) =>
      `${name} ${text}`.includes(`/${VICTIM}/`)
    );
    const record = records[at % Math.max(1, records.length)];
    await record?.write(damaged(record.text, how));
  }
  const after = await Life.begin(raw);
  try {
    return await after.check();
  } finally {
    await after.end();
    await raw.release();
  }
}
