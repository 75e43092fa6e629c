/**
 * The suspend steps of workflows that labels choose. A group may have thousands of them, of which an event is about one: to
 * ask each of its workflows would take far longer than to read them.
 */
import { BoundedCache } from "../../base/bounded_cache.ts";
import { parseOrUndefined } from "../../base/json_text.ts";
import type { NodeRecord } from "../../engine/records.ts";
import { nodeOf } from "../../engine/stored/stored_form.ts";
import type { LabelTerm } from "../../expr/selectors/label_selector.ts";
import { matchesNode, parseNodeFieldSelector } from "../../expr/selectors/node_field_selector.ts";
import { Turns } from "../../platform/turns.ts";
import { type ListPage, type ListQuery, NODE_PART_PREFIX, type Store } from "../../store/port.ts";
import { sizeOfParts } from "../../store/list_query.ts";
import type { WorkflowSource } from "../workflows/source.ts";

/** So many workflows are asked at once. */
const FEW = 16;
const PAGE = { limit: 100, maxSize: 4 * 1024 * 1024 };
/** Groups that are remembered. */
const MAX_GROUPS = 8;

interface GroupStep {
  workflow: string;
  node: Pick<
    NodeRecord,
    "id" | "name" | "displayName" | "phase" | "templateName" | "templateRef" | "inputs"
  >;
}

export interface GroupReaderDeps {
  store: Pick<Store, "query">;
  workflows: Pick<WorkflowSource, "newHold" | "heldBy">;
}

type GroupQuery = Omit<ListQuery, "limit">;

/** Reads groups for a replica. Those who ask while a group is being read share the next time. */
export class GroupReader {
  readonly #deps: GroupReaderDeps;
  readonly #next = new Map<string, Promise<GroupStep[]>>();
  readonly #current = new Map<string, Promise<unknown>>();

  constructor(deps: GroupReaderDeps) {
    this.#deps = deps;
  }

  /** Whether a group is small, and its workflows if it is. */
  async few(query: GroupQuery): Promise<string[] | undefined> {
    const page = await this.#deps.store.query.list({ ...query, limit: FEW, parts: [] });
    return page.continue === undefined ? page.items.map(({ index }) => index.name) : undefined;
  }

  /** Its suspend steps, as they are at some moment after the call. @throws {Problem} Unavailable */
  steps(query: GroupQuery): Promise<GroupStep[]> {
    const key = keyOf(query);
    const waiting = this.#next.get(key);
    if (waiting !== undefined) return waiting;
    const current = this.#current.get(key) ?? Promise.resolve();
    const next = current.catch(() => {}).then(() => {
      this.#next.delete(key);
      this.#current.set(key, next);
      return this.#read(query);
    }).finally(() => {
      if (this.#current.get(key) === next) this.#current.delete(key);
    });
    this.#next.set(key, next);
    return next;
  }

  async #read(query: GroupQuery): Promise<GroupStep[]> {
    const { store, workflows } = this.#deps;
    const lane = `events/${query.namespace ?? ""}`;
    const turns = new Turns(lane);
    const hold = workflows.newHold(lane);
    const source = workflows.heldBy(hold);
    const steps: GroupStep[] = [];
    try {
      let from: string | undefined;
      do {
        const next = { ...query, ...PAGE, ...(from !== undefined && { continue: from }) };
        const page: ListPage = await source.page(() => store.query.list(next), sizeOfPage);
        for (const { index, parts } of page.items) {
          for (const node of suspendNodes(parts)) steps.push({ workflow: index.name, node });
          await turns.pause();
        }
        source.givePage(sizeOfPage(page));
        from = page.continue;
      } while (from !== undefined);
    } finally {
      hold.release();
    }
    return steps;
  }
}

/** Reads each group once, so keep it no longer than what waits may stay unseen. */
export class GroupSteps {
  readonly #reader: GroupReader;
  readonly #groups = new BoundedCache<string, Promise<GroupStep[]>>(MAX_GROUPS);

  constructor(reader: GroupReader) {
    this.#reader = reader;
  }

  /**
   * Names of workflows of a group that may have a step to call back: of a small group all; of a larger one those in which a
   * chosen step waits. If there is none, one in which it has ended: it tells why it can't be called back.
   * @throws {Problem} InvalidArgument for the selector, Unavailable
   */
  async workflowsWith(
    nodeFieldSelector: string,
    namespace: string,
    labels: LabelTerm[],
  ): Promise<string[]> {
    const terms = parseNodeFieldSelector(nodeFieldSelector);
    const query = groupQuery(namespace, labels);
    const few = await this.#reader.few(query);
    if (few !== undefined) return few;
    const key = keyOf(query);
    const known = this.#groups.get(key) ?? this.#groups.set(key, this.#reader.steps(query));
    const waiting = new Set<string>();
    let ended: string | undefined;
    for (const { workflow, node } of await known) {
      if (!matchesNode(terms, node)) continue;
      if (node.phase === "Running") waiting.add(workflow);
      else ended ??= workflow;
    }
    return waiting.size > 0 || ended === undefined ? [...waiting] : [ended];
  }
}

function sizeOfPage({ items }: ListPage): number {
  return items.reduce((sum, { parts }) => sum + sizeOfParts(parts), 0);
}

function groupQuery(namespace: string, labels: LabelTerm[]): GroupQuery {
  return { kind: "wf", namespace, labels, phases: ["", "Pending", "Running"] };
}

function keyOf({ namespace, labels }: GroupQuery): string {
  return JSON.stringify([namespace, labels]);
}

/** The suspend steps among parts of a workflow. */
export function* suspendNodes(parts: Record<string, string>): Iterable<GroupStep["node"]> {
  for (const key in parts) {
    const text = parts[key] ?? "";
    // Most parts need not be parsed.
    if (!key.startsWith(NODE_PART_PREFIX) || !text.includes('"Suspend"')) continue;
    const node = nodeOf(parseOrUndefined(text));
    if (node?.type !== "Suspend") continue;
    const { id, name, displayName, phase, templateName, templateRef, inputs } = node;
    yield { id, name, displayName, phase, templateName, templateRef, inputs };
  }
}
