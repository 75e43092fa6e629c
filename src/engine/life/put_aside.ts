/**
 * Ends a workflow that cannot continue. Only its header is read, as far as it is readable. Its nodes stay as they were
 * stored.
 */
import type { PartText } from "../../base/part_text.ts";
import { isJsonObject } from "../../base/json.ts";
import { ownNames } from "../../spec/naming.ts";
import { encodePart, indexEntry } from "../codec.ts";
import type { Effect } from "../effect.ts";
import type { IndexEntry } from "../index_entry.ts";
import { ASIDE } from "./life.ts";
import { noticedWorkflow } from "../note_changes.ts";
import { type Header, SCHEMA } from "../records.ts";
import { usableHeader } from "../stored/stored_form.ts";
import { DEADLINE_TIMER, GO_ON_TIMER } from "../timers.ts";

/** What is known without the stored parts. */
interface Known {
  namespace: string;
  name: string;
  now: number;
  labelPrefix: string;
  areChangesNoted?: boolean;
}

export interface PutAside {
  put: PartText[];
  index: IndexEntry;
  effects: Effect[];
}

/** What has to be stored and done. @param parts As they are stored; they may be damaged. */
export function putAside(parts: Record<string, string>, reason: string, known: Known): PutAside {
  const { namespace, name, now } = known;
  const names = ownNames(known);
  const found = readHeader(parts["h"]);
  const metadata = { ...found?.metadata, namespace, name };
  const { closing: _closing, isCut: _isCut, lock: _lock, ...rest } = found ?? {};
  const header: Header = {
    schema: SCHEMA,
    sequence: 0,
    ...rest,
    metadata: {
      ...metadata,
      labels: {
        ...metadata.labels,
        [names.phase]: "Error",
        [names.completed]: "true",
      },
    },
    ...ASIDE,
    message: `put aside: ${reason}`,
    startedAt: found?.startedAt ?? now,
    finishedAt: now,
    isAside: true,
  };
  const effects: Effect[] = [
    { type: "clear-timer", id: GO_ON_TIMER },
    { type: "clear-timer", id: DEADLINE_TIMER },
  ];
  // Its nodes, which are not read, may hold locks too.
  const { uid = "" } = metadata;
  effects.push({
    type: "release-all-locks",
    id: `release-all/${uid}`,
    namespace,
    workflow: name,
    uid,
  });
  if (known.areChangesNoted === true) {
    const workflow = noticedWorkflow({ header, specs: { spec: {} } });
    effects.push({
      type: "notice",
      id: "notice/Failed/",
      notice: { change: "Failed", at: now, workflow },
    });
  }
  const put: PartText[] = [{ key: "h", text: JSON.stringify(header) }];
  // Something has to be there to be shown.
  if (parts["s"] === undefined) put.push({ key: "s", text: encodePart({ spec: {} }) });
  return { put, index: indexEntry({ header }), effects };
}

/** The header of a workflow that was put aside; undefined for any other. */
export function asideHeader(text: string | undefined): Partial<Header> | undefined {
  if (text?.includes('"isAside":true') !== true) return undefined;
  const header = readHeader(text);
  return header?.isAside === true ? header : undefined;
}

/** The readable members of a header. */
function readHeader(text: string | undefined): Partial<Header> | undefined {
  try {
    const value: unknown = JSON.parse(text ?? "");
    if (!isJsonObject(value)) return undefined;
    const { schema: _schema, ...header } = value;
    return usableHeader(header);
  } catch {
    return undefined;
  }
}
