/**
 * Index entries as Redis holds them: a JSON list without what the actor's id says already, to save memory, since there
 * is one for every workflow. The commit script reads the list too, to find the terms of the previous entry.
 */
import { parseOrUndefined } from "../../base/json_text.ts";
import { newTable } from "../../base/table.ts";
import { areLabels, isEntryTime, shortLabelKey, wholeLabelKey } from "../list_query.ts";
import type { IndexEntry } from "../port.ts";
import { NAMELESS, SHORT_SINCE, shortText, wholeText } from "./texts/short_texts.ts";

type Encoded = [
  uid: string,
  phase: string,
  createdAt: number,
  startedAt: number | null,
  finishedAt: number | null,
  labels: Record<string, string>,
  /** Absent for most. */
  waitsSince?: number,
];

/** @param labels those of the entry, see `encodeLabels` */
export function encodeIndex(entry: IndexEntry, labels: string, layout: number): string {
  const { uid, phase, createdAt, startedAt, finishedAt, waitsSince } = entry;
  const head = JSON.stringify([uid, phase, createdAt, startedAt, finishedAt]).slice(0, -1);
  const end = waitsSince === undefined ? "]" : `,${JSON.stringify(waitsSince)}]`;
  const text = `${head},${labels}${end}`;
  return layout < SHORT_SINCE ? text : shortText(text, NAMELESS);
}

/** Labels as an index entry has them; many have the same. */
export function encodeLabels(labels: Record<string, string>): string {
  return JSON.stringify(mapKeys(labels, shortLabelKey));
}

/** Reads the entry of the actor `<kind>/<namespace>/<name>`; undefined when it can't be read. */
export function decodeIndex(id: string, text: string): IndexEntry | undefined {
  const value = parseOrUndefined(wholeText(text, NAMELESS));
  if (!isEncoded(value)) return undefined;
  const [uid, phase, createdAt, startedAt, finishedAt, labels, waitsSince] = value;
  const [, namespace = "", ...name] = id.split("/");
  return {
    namespace,
    name: name.join("/"),
    uid,
    labels: mapKeys(labels, wholeLabelKey),
    phase,
    createdAt,
    ...(startedAt !== null && { startedAt }),
    ...(finishedAt !== null && { finishedAt }),
    ...(waitsSince !== undefined && { waitsSince }),
  };
}

function isEncoded(value: unknown): value is Encoded {
  if (!Array.isArray(value)) return false;
  const [uid, phase, createdAt, startedAt, finishedAt, labels, waitsSince = 0] = value as unknown[];
  const areTimes = [startedAt, finishedAt].every((at) => at === null || isEntryTime(at));
  return typeof uid === "string" && typeof phase === "string" && isEntryTime(createdAt) &&
    isEntryTime(waitsSince) && areTimes && areLabels(labels);
}

function mapKeys(labels: Record<string, string>, map: (key: string) => string) {
  const mapped = newTable<string>();
  for (const key in labels) mapped[map(key)] = labels[key] ?? "";
  return mapped;
}
