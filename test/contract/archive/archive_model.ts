/** What an archive must answer, in the simplest way: all rows in a map, every question by looking at each. */
import fc from "fast-check";
import type {
  ArchivedWorkflow,
  ArchiveQuery,
  CreatedCounts,
  DayCount,
  RetentionRule,
} from "../../../src/archive/port.ts";
import { matchesLabels, parseLabelSelector } from "../../../src/expr/selectors/label_selector.ts";
import { DAY_MS, NOON, rowOf } from "./archive_setting.ts";

export class ArchiveModel {
  readonly rows: Map<string, ArchivedWorkflow> = new Map();

  put(row: ArchivedWorkflow): void {
    if ((this.rows.get(row.uid)?.edition ?? 0) <= row.edition) this.rows.set(row.uid, row);
  }

  list(query: ArchiveQuery): string[] {
    const orderOf = ({ createdAt, namespace, name, uid }: ArchivedWorkflow) =>
      [String(createdAt).padStart(16, "0"), `${namespace}/${name}`, uid].join("\0");
    return [...this.rows.values()].filter((row) => selects(query, row))
      .sort((a, b) => orderOf(a) < orderOf(b) ? 1 : -1).map(({ uid }) => uid);
  }

  expired({ finishedBefore, namespace, phases, labels }: RetentionRule): string[] {
    return [...this.rows.values()].filter((row) =>
      row.finishedAt < finishedBefore && (namespace ?? row.namespace) === row.namespace &&
      (phases?.includes(row.phase) ?? true) && matchesLabels(labels ?? [], row.labels)
    ).sort((a, b) => a.finishedAt - b.finishedAt || (a.uid < b.uid ? -1 : 1)).map(({ uid }) => uid);
  }

  labelKeys(namespace: string | undefined): string[] {
    return distinct(this.#of(namespace).flatMap(({ labels }) => Object.keys(labels)));
  }

  labelValues(namespace: string | undefined, key: string): string[] {
    return distinct(this.#of(namespace).flatMap(({ labels }) => labels[key] ?? []));
  }

  dayCounts(from: string, to: string, namespace: string | undefined): DayCount[] {
    const counts = new Map<string, DayCount>();
    for (const row of this.#of(namespace)) {
      const day = new Date(row.finishedAt).toISOString().slice(0, 10);
      if (day < from || day > to) continue;
      const { name = "" } = JSON.parse(row.object).spec.workflowTemplateRef ?? {};
      const of = {
        day,
        namespace: row.namespace,
        phase: row.phase,
        template: `namespaced/${name}`,
      };
      const key = JSON.stringify(of);
      const { count, durationMs } = counts.get(key) ?? { count: 0, durationMs: 0 };
      const took = row.startedAt === undefined ? 0 : row.finishedAt - row.startedAt;
      counts.set(key, { ...of, count: count + 1, durationMs: durationMs + took });
    }
    const orderOf = ({ namespace, phase, template }: DayCount) =>
      [namespace, phase, template].join("\0");
    return [...counts.values()].sort((a, b) =>
      a.day === b.day ? (orderOf(a) < orderOf(b) ? -1 : 1) : a.day < b.day ? 1 : -1
    );
  }

  createdCounts(bounds: readonly number[], namespace: string | undefined): CreatedCounts {
    const rows = this.#of(namespace);
    const phases: Record<string, number[]> = {};
    for (const phase of distinct(rows.map((row) => row.phase))) {
      const counts = bounds.slice(1).map((end, span) =>
        rows.filter((row) =>
          row.phase === phase && row.createdAt >= (bounds[span] ?? end) && row.createdAt < end
        ).length
      );
      if (counts.some((count) => count > 0)) phases[phase] = counts;
    }
    const oldest = Math.min(...rows.map(({ createdAt }) => createdAt));
    return { phases, ...(rows.length > 0 && { oldest }) };
  }

  #of(namespace: string | undefined): ArchivedWorkflow[] {
    return [...this.rows.values()].filter((row) => (namespace ?? row.namespace) === row.namespace);
  }
}

function distinct(texts: string[]): string[] {
  return [...new Set(texts)].sort();
}

function selects(query: ArchiveQuery, row: ArchivedWorkflow): boolean {
  const { name, parameter } = query;
  const started = row.startedAt ?? NaN;
  const checks = [
    query.namespace === undefined || row.namespace === query.namespace,
    query.notNamespace === undefined || row.namespace !== query.notNamespace,
    name?.match !== "exact" || row.name === name.value,
    name?.match !== "not" || row.name !== name.value,
    name?.match !== "prefix" || row.name.startsWith(name.value),
    name?.match !== "contains" || row.name.includes(name.value),
    query.namePrefix === undefined || row.name.startsWith(query.namePrefix),
    query.phases === undefined || query.phases.includes(row.phase),
    query.createdAfter === undefined || row.createdAt >= query.createdAfter,
    query.startedAfter === undefined || started >= query.startedAfter,
    query.startedBefore === undefined || started <= query.startedBefore,
    query.finishedBefore === undefined || row.finishedAt <= query.finishedBefore,
    parameter === undefined || row.parameters?.[parameter.name] === parameter.value,
    matchesLabels(query.labels ?? [], row.labels),
  ];
  return checks.every(Boolean);
}

const NAMES = ["etl", "etl-1", "etl-12", "build", "bu%ld", "bu_ld", "x.etl"];
const NAMESPACES = ["team-a", "team-b", "team-a-x"];
const PHASES = ["Succeeded", "Failed", "Error"];
const VALUES = ["1", "2", "+07", "-3", "etl", "", "9223372036854775807", "9223372036854775808"];
const KEYS = ["app", "example.com/tier", "n"];
const REGIONS = ["eu", "us", "ü"];

const oneOf = <T>(values: readonly T[]) => fc.constantFrom(...values);
const second = (from: number, to: number) =>
  fc.integer({ min: from, max: to }).map((seconds) => seconds * 1_000);

/** Few of everything, so that rows meet. */
export const anyRow: fc.Arbitrary<ArchivedWorkflow> = fc.record({
  uid: fc.integer({ min: 0, max: 30 }).map((uid) => `uid-${uid}`),
  namespace: oneOf(NAMESPACES),
  name: oneOf(NAMES),
  phase: oneOf(PHASES),
  labels: fc.dictionary(oneOf(KEYS), oneOf(VALUES), { noNullPrototype: true }),
  parameters: fc.dictionary(oneOf(["region", "size"]), oneOf(REGIONS), { noNullPrototype: true }),
  created: second(0, 5),
  started: fc.option(second(0, 3), { nil: undefined }),
  took: fc.oneof(second(0, 10), oneOf([DAY_MS, 2 * DAY_MS])),
  edition: fc.integer({ min: 1, max: 3 }),
}).map(({ created, started, took, parameters, ...row }) => {
  const createdAt = NOON + created;
  const { startedAt: _startedAt, ...given } = rowOf(row.uid, {
    ...row,
    ...(Object.keys(parameters).length > 0 && { parameters }),
    createdAt,
    finishedAt: createdAt + (started ?? 0) + took,
  });
  // A row that never started has no such time.
  return { ...given, ...(started !== undefined && { startedAt: createdAt + started }) };
});

const anyLabels = fc.array(
  fc.oneof(
    fc.tuple(oneOf(KEYS), oneOf(["=", "!="]), oneOf(VALUES.filter((value) => !/^[+-]/.test(value))))
      .map(([key, operator, value]) => `${key}${operator}${value}`),
    fc.tuple(
      oneOf(KEYS),
      oneOf(["in", "notin"]),
      fc.subarray(["1", "2", "etl", ""], { minLength: 1 }),
    )
      .map(([key, operator, values]) => `${key} ${operator} (${values.join()})`),
    fc.tuple(oneOf(["", "!"]), oneOf(KEYS)).map(([not, key]) => `${not}${key}`),
    fc.tuple(oneOf(KEYS), oneOf([">", "<"]), oneOf(["1", "0", "9223372036854775806"]))
      .map(([key, operator, value]) => `${key}${operator}${value}`),
  ),
  { minLength: 1, maxLength: 3 },
).map((terms) => parseLabelSelector(terms.join(",")));

const time = second(-1, 12).map((after) => NOON + after);

/** Filters, mostly one or two of them. */
export const anyQuery: fc.Arbitrary<Omit<ArchiveQuery, "limit">> = fc.record({
  namespace: oneOf([...NAMESPACES, "none"]),
  notNamespace: oneOf(NAMESPACES),
  name: fc.record({
    value: oneOf([...NAMES, "", "e", "u_", "%", "none"]),
    match: oneOf(["exact", "contains", "prefix", "not"]),
  }),
  namePrefix: oneOf([...NAMES, "e", "none"]),
  labels: anyLabels,
  phases: fc.subarray([...PHASES, "None"]),
  createdAfter: time,
  startedAfter: time,
  startedBefore: time,
  finishedBefore: fc.oneof(time, fc.constant(NOON + DAY_MS)),
  parameter: fc.record({ name: oneOf(["region", "size"]), value: oneOf([...REGIONS, "none"]) }),
}, { requiredKeys: [] }).chain((query) =>
  fc.shuffledSubarray(Object.keys(query)).map((all) => all.slice(0, 2)).map((keys) =>
    Object.fromEntries(Object.entries(query).filter(([key]) => keys.includes(key)))
  )
);

export const anyRule: fc.Arbitrary<RetentionRule> = fc.record({
  namespace: oneOf(NAMESPACES),
  labels: anyLabels,
  phases: fc.subarray(PHASES),
  finishedBefore: fc.oneof(time, fc.constant(NOON + DAY_MS), fc.constant(NOON + 5 * DAY_MS)),
}, { requiredKeys: ["finishedBefore"] });
