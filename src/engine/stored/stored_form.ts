/**
 * Checks the stored parts of a workflow member by member, so that a damaged part is noticed before it is used. Members that
 * are not named here are allowed; a newer program may have written them.
 */
import { isJsonObject } from "../../base/json.ts";
import { isShared } from "../../base/shared_json.ts";
import { fits, fittingMembers } from "../../spec/fits.ts";
import { WORKFLOW_SPEC } from "../../spec/schema/kinds.ts";
import { OBJECT_META } from "../../spec/schema/kubernetes.ts";
import { ARGUMENTS, INPUTS, OUTPUTS, TEMPLATE, TEMPLATE_REF } from "../../spec/schema/template.ts";
import type { LIVE } from "../live.ts";
import {
  type Check,
  isAny,
  isCount,
  isList,
  isMap,
  isNumber,
  isOf,
  isRecord,
  isText,
  isTime,
  isTruth,
  type Members,
} from "./shape.ts";
import {
  blankNode,
  type CallbackNote,
  type EarlyCallback,
  type Header,
  type LockNote,
  type NodeRecord,
  type StoredSpecs,
} from "../records.ts";

const isLockNote = isRecord<LockNote>({
  isHeld: isTruth,
  keys: isList(isRecord<LockNote["keys"][number]>(
    { kind: isText, key: isText, limit: isNumber },
    ["kind", "key", "limit"],
  )),
  round: isCount,
  until: isTime,
  waiting: isText,
  holders: (value) => isList(isText)(value) || isMap(isList(isText))(value),
}, ["isHeld", "keys"]);

const HEADER: Members<Header> = {
  schema: isAny,
  metadata: (value) => fits(value, OBJECT_META) && isText((value as Header["metadata"]).name),
  apiVersion: isText,
  kind: isText,
  phase: isText,
  progress: isText,
  message: isText,
  startedAt: isTime,
  finishedAt: isTime,
  outputs: isOf(OUTPUTS),
  conditions: isList(isRecord<NonNullable<Header["conditions"]>[number]>(
    { type: isText, status: isText, message: isText },
    ["type", "status"],
  )),
  resourcesDuration: isMap(isNumber),
  lock: isLockNote,
  isPrepared: isTruth,
  stopMessage: isText,
  outputWriters: isMap(isNumber),
  isCut: isTruth,
  isAside: isTruth,
  closing: isRecord<NonNullable<Header["closing"]>>({ phase: isText, message: isText }, ["phase"]),
  sequence: isCount,
  imported: isJsonObject,
  hasMoved: isTruth,
  callbackSecret: isText,
  earlyCallbacks: isMap(isRecord<EarlyCallback>(
    { verb: isText, digest: isText, outputs: isMap(isText), message: isText },
    ["verb", "digest"],
  )),
  trace: isRecord<NonNullable<Header["trace"]>>(
    { parent: isText, state: isText, event: isText, run: isTime, isRestored: isTruth },
    [],
  ),
  retries: isCount,
  machine: isAny,
};

/** Tells whether a value is a header. */
export const isHeader: Check = isRecord(HEADER, ["metadata", "phase", "sequence"]);

/** The usable members of a damaged header. @param value the header without its schema number */
export function usableHeader(value: Record<string, unknown>): Partial<Header> {
  const { metadata, ...rest } = value;
  const usable = Object.entries(rest).filter(([name, member]) => {
    const check = Object.hasOwn(HEADER, name) ? HEADER[name as keyof Header] : undefined;
    return check === undefined || check(member);
  });
  return {
    ...Object.fromEntries(usable),
    ...(isJsonObject(metadata) ? { metadata: fittingMembers(metadata, OBJECT_META) } : {}),
  };
}

const NODE: Members<Omit<NodeRecord, typeof LIVE>> = {
  schema: isAny,
  id: isText,
  name: isText,
  displayName: isText,
  type: isText,
  phase: isText,
  role: isText,
  order: isCount,
  owner: isText,
  boundary: isText,
  step: isText,
  index: isCount,
  hook: isText,
  parents: isList(isText),
  after: isList(isText),
  outbound: isList(isText),
  targets: isList(isText),
  templateName: isText,
  templateRef: isOf(TEMPLATE_REF),
  templateScope: isText,
  message: isText,
  startedAt: isTime,
  finishedAt: isTime,
  progress: isText,
  resourcesDuration: isMap(isNumber),
  podIP: isText,
  hostNodeName: isText,
  daemoned: isTruth,
  nodeFlag: isRecord<NonNullable<NodeRecord["nodeFlag"]>>(
    { hooked: isTruth, retried: isTruth },
    [],
  ),
  inputs: isOf(INPUTS),
  outputs: isOf(OUTPUTS),
  memoizationStatus: isRecord<NonNullable<NodeRecord["memoizationStatus"]>>(
    { hit: isTruth, key: isText, cacheName: isText },
    [],
  ),
  synchronizationStatus: isRecord<NonNullable<NodeRecord["synchronizationStatus"]>>(
    { waiting: isText },
    [],
  ),
  taskResultSynced: isTruth,
  starts: isCount,
  lock: isLockNote,
  dueAt: isTime,
  deadline: isTime,
  deadlineMessage: isText,
  isErrored: isTruth,
  isTimedOut: isTruth,
  isDaemon: isTruth,
  isLostDaemon: isTruth,
  isImported: isTruth,
  isOpenedLate: isTruth,
  hasBegun: isTruth,
  isExit: isTruth,
  callback: isRecord<CallbackNote>({ verb: isText, digest: isText }, ["verb", "digest"]),
};

const NODE_CHECKS = new Map<string, Check>([
  ...Object.entries(NODE),
  // It would not become a member.
  ["__proto__", () => false],
]);

/**
 * The node that a stored value holds; undefined when members are missing or of another type. Members that are not known stay,
 * except the schema number.
 */
export function nodeOf(value: unknown): NodeRecord | undefined {
  if (!isJsonObject(value)) return undefined;
  const node = blankNode("", "", "", "member", "Skipped", "Pending");
  for (const member of NEEDED) if (value[member] === undefined) return undefined;
  const members = node as unknown as Record<string, unknown>;
  for (const name in value) {
    if (name === "schema") continue;
    const member = value[name];
    if (NODE_CHECKS.get(name)?.(member) === false) return undefined;
    members[name] = member;
  }
  return node;
}

const NEEDED = ["id", "name", "displayName", "type", "phase", "role", "order"] as const;

// Shared specs are checked once.
const seen = new WeakSet();

const areSpecs = isRecord<StoredSpecs>({
  spec: isOf(WORKFLOW_SPEC),
  storedTemplates: isMap(isOf(TEMPLATE)),
  storedWorkflowTemplateSpec: isOf(WORKFLOW_SPEC),
  parameterValues: isMap(isText),
  pastStarts: isMap(isCount),
}, ["spec"]);

/** Tells whether a value holds the specs of a workflow. */
export function isSpecs(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { spec } = value;
  const isFrozen = isJsonObject(spec) && isShared(spec);
  // The rest of the value comes from the same text.
  if (isFrozen && seen.has(spec)) return true;
  if (!areSpecs(value)) return false;
  if (isFrozen) seen.add(spec);
  return true;
}

/** Tells whether a value holds arguments of the specs, by the member that has them. */
export function isArguments({ schema: _schema, ...given }: Record<string, unknown>): boolean {
  return areArguments(given);
}

const areArguments: Check = isMap(isOf(ARGUMENTS));
