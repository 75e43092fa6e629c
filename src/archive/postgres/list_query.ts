/** SQL of lists: which rows a query selects, and the ways on which they can be found in the order of lists. */
import type { LabelTerm } from "../../expr/selectors/label_selector.ts";
import { storableText } from "./reference_form.ts";
import type { ArchivePosition, ArchiveQuery, RetentionRule } from "../port.ts";

/** Values of a statement, in the order of their places. */
export class Values {
  readonly list: string[] = [];

  /** SQL that stands for a value. */
  add(value: string | number, type: "text" | "bigint" | "int" | "numeric"): string {
    this.list.push(String(value));
    // As a text at first: the driver would write a value of another type in a form of its own.
    return `$${this.list.length}::text${type === "text" ? "" : `::${type}`}`;
  }

  addAll(values: readonly string[]): string {
    return `array[${values.map((value) => this.add(value, "text")).join(", ")}]::text[]`;
  }
}

/** A source of rows in the order of lists: entries by an index, or what is filed under a term. */
export type Source =
  | { table: "entry"; column?: "name" | "phase" | "namespace"; value: string }
  | { table: "filed"; kind: "l" | "p"; key: string; value: string };

/** Most characters of a text that rows are filed under: an index has no more room. Rows with a longer one are looked through. */
const MAX_FILED = 500;

/** Tells whether rows are filed under a label or a parameter. */
export function isFiled({ value }: { value: string }): boolean {
  return value.length <= MAX_FILED;
}

/** A query as rows are stored. */
export function storableQuery(query: ArchiveQuery): ArchiveQuery {
  const { parameter } = query;
  if (parameter === undefined) return query;
  return { ...query, parameter: { ...parameter, value: storableText(parameter.value) } };
}

/** The order of lists; all descend. */
const ORDER = ["created_at", "place", `uid collate "C"`] as const;

/** Ways to find all rows that a query selects: sources that together have every one of them, none of them twice. */
export function waysOf(
  { labels = [], parameter, name, phases, namespace }: ArchiveQuery,
): Source[][] {
  const indexed = (column: "name" | "phase" | "namespace") => (value: string): Source => ({
    table: "entry",
    column,
    value,
  });
  // Hardly any workflows share a name, so there is nothing to choose.
  if (name?.match === "exact") return [[indexed("name")(name.value)]];
  const ways: Source[][] = [];
  for (const { key, operator, values } of labels) {
    if (operator !== "=" && operator !== "in") continue;
    ways.push([...new Set(values)].map((value) => ({ table: "filed", kind: "l", key, value })));
  }
  if (parameter !== undefined && isFiled(parameter)) {
    const { name: key, value } = parameter;
    ways.push([{ table: "filed", kind: "p", key, value }]);
  }
  if (phases !== undefined) ways.push([...new Set(phases)].map(indexed("phase")));
  if (namespace !== undefined) ways.push([indexed("namespace")(namespace)]);
  return [...ways, [{ table: "entry", value: "" }]];
}

/** SQL of what a source has after a position, in the order of lists. @param columns of `o`, the table with the order */
export function sourceSql(
  source: Source,
  scope: number,
  after: ArchivePosition,
  columns: string,
  values: Values,
): string {
  const terms = [isAfter(after, values)];
  if (source.table === "filed") {
    terms.unshift(`o.term = (select id from sluice_archive_term
      where scope = ${values.add(scope, "int")} and kind = ${
      values.add(source.kind, "text")
    } and namespace = ''
        and key = ${values.add(source.key, "text")} and value = ${
      values.add(source.value, "text")
    })`);
  } else {
    terms.unshift(`o.scope = ${values.add(scope, "int")}`);
    const { column, value } = source;
    if (column !== undefined) terms.push(`o.${column} = ${values.add(value, "text")}`);
  }
  return `select ${columns} from sluice_archive_${source.table} o where ${terms.join(" and ")}
    order by ${descending("o.")}`;
}

/** SQL for what comes after a position in lists. */
export function isAfter({ createdAt, place, uid }: ArchivePosition, values: Values): string {
  const position = [
    values.add(createdAt, "bigint"),
    values.add(place, "text"),
    values.add(uid, "text"),
  ];
  return `(${ORDER.map((column) => `o.${column}`).join(", ")}) < (${position.join(", ")})`;
}

export function descending(prefix = ""): string {
  return ORDER.map((column) => `${prefix}${column} desc`).join(", ");
}

export function ascending(): string {
  return ORDER.join(", ");
}

/**
 * SQL of a query's filters.
 *
 * @param known what the source already has: it need not be looked at again
 * @returns terms about the entry `e`, and those for which the order `o` is enough
 */
export function filtersOf(
  query: ArchiveQuery,
  known: Source | undefined,
  values: Values,
): { entry: string[]; order: string[] } {
  const text = (value: string) => values.add(value, "text");
  const entry: string[] = [];
  const order: string[] = [];
  const isKnown = (column: string) => known?.table === "entry" && known.column === column;
  if (query.namespace !== undefined && !isKnown("namespace")) {
    order.push(`split_part(o.place, '/', 1) = ${text(query.namespace)}`);
  }
  if (query.notNamespace !== undefined) {
    order.push(`split_part(o.place, '/', 1) <> ${text(query.notNamespace)}`);
  }
  if (query.name !== undefined && !isKnown("name")) order.push(nameFilter(query.name, values));
  if (query.namePrefix !== undefined) {
    order.push(nameFilter({ value: query.namePrefix, match: "prefix" }, values));
  }
  if (query.createdAfter !== undefined) {
    order.push(`o.created_at >= ${values.add(query.createdAfter, "bigint")}`);
  }
  if (query.phases !== undefined && !isKnown("phase")) {
    entry.push(`e.phase = any(${values.addAll(query.phases)})`);
  }
  const bounds = [
    ["startedAfter", "started_at >="],
    ["startedBefore", "started_at <="],
    ["finishedBefore", "finished_at <="],
  ] as const;
  for (const [name, comparison] of bounds) {
    const bound = query[name];
    if (bound !== undefined) entry.push(`e.${comparison} ${values.add(bound, "bigint")}`);
  }
  if (query.parameter !== undefined && !(known?.table === "filed" && known.kind === "p")) {
    const { name, value } = query.parameter;
    entry.push(`e.parameters ->> ${text(name)} = ${text(value)}`);
  }
  for (const term of query.labels ?? []) {
    if (!isFiledUnder(term, known)) entry.push(labelFilter(term, values));
  }
  return { entry, order };
}

/** Tells whether each row of a source is selected by a term. */
function isFiledUnder({ key, operator, values }: LabelTerm, source: Source | undefined): boolean {
  if (source?.table !== "filed" || source.kind !== "l" || source.key !== key) return false;
  return (operator === "=" || operator === "in") && values.includes(source.value);
}

/** SQL of what a retention rule selects among the entries `e`. */
export function ruleFilters(rule: RetentionRule, values: Values): string[] {
  return [
    ...(rule.namespace === undefined
      ? []
      : [`e.namespace = ${values.add(rule.namespace, "text")}`]),
    ...(rule.phases === undefined ? [] : [`e.phase = any(${values.addAll(rule.phases)})`]),
    ...(rule.labels ?? []).map((term) => labelFilter(term, values)),
  ];
}

/** The name follows the slash of the place, which every index of lists has. */
const NAME = "substr(o.place, strpos(o.place, '/') + 1)";

function nameFilter({ value, match }: NonNullable<ArchiveQuery["name"]>, values: Values): string {
  const text = values.add(value, "text");
  switch (match) {
    case "exact":
      return `${NAME} = ${text}`;
    case "not":
      return `${NAME} <> ${text}`;
    case "prefix":
      return `starts_with(${NAME}, ${text})`;
    case "contains":
      return `strpos(${NAME}, ${text}) > 0`;
  }
}

function labelFilter({ key, operator, values: wanted }: LabelTerm, values: Values): string {
  const label = `(e.labels ->> ${values.add(key, "text")})`;
  switch (operator) {
    case "exists":
      return `${label} is not null`;
    case "!exists":
      return `${label} is null`;
    case "=":
    case "in":
      return `${label} = any(${values.addAll(wanted)})`;
    case "!=":
    case "notin":
      return `(${label} is null or not ${label} = any(${values.addAll(wanted)}))`;
    case ">":
    case "<": {
      // Integers of 64 bits; anything else is neither more nor less.
      const number = `${label}::numeric`;
      return `case when ${label} ~ '^[+-]?[0-9]+$' then ${number} between -9223372036854775808 and 9223372036854775807
        and ${number} ${operator} ${values.add(wanted[0] ?? "", "numeric")} else false end`;
    }
  }
}
