/**
 * Which of the callbacks that wait are to be tried. A replica knows those that it owns, and the feed tells about what each of
 * them something has changed, so a step that begins to wait costs no look at the others.
 */
import { parseOrUndefined } from "../../base/json_text.ts";
import { isJsonObject } from "../../base/json.ts";
import type { Identity } from "../../auth/port.ts";
import type { CallbackRequest } from "../../events/match.ts";
import {
  type LabelTerm,
  matchesLabels,
  parseLabelSelector,
} from "../../expr/selectors/label_selector.ts";
import {
  matchesNode,
  type NodeTerm,
  parseNodeFieldSelector,
} from "../../expr/selectors/node_field_selector.ts";
import { ManifestKind } from "../../spec/manifest.ts";
import type { Change } from "../../store/port.ts";
import { suspendNodes } from "./group_steps.ts";

const PREFIX = `${ManifestKind.WaitingCallback}/`;
const WORKFLOWS = "wf/";
/** How often those are due whose time is over, and those that are to be tried again, ms. */
const SWEEP_EVERY_MS = 2_000;

/** A callback that waits, as it is stored. */
export interface WaitingCallback {
  event: string;
  binding: string;
  request: CallbackRequest;
  sender: Identity;
  /** Epoch ms. */
  expiresAt: number;
}

/** One that this replica owns. */
export interface KnownCallback {
  namespace: string;
  name: string;
  waiting: WaitingCallback;
  /** What the change of a workflow must be about. */
  labels: readonly LabelTerm[];
  nodes: readonly NodeTerm[];
}

/** Callbacks by `namespace/name`. */
type Callbacks = Map<string, KnownCallback>;

export class CallbackLookout {
  readonly #isMine: (event: string) => boolean;
  readonly #known: Callbacks = new Map();
  /** The same by the actor of their workflow, or by `wf/namespace/` if labels choose it. */
  readonly #byPlace = new Map<string, Callbacks>();
  readonly #due = new Set<string>();
  /** They are due with the next sweep. */
  readonly #again = new Set<string>();
  #sweepAt = -Infinity;

  /** @param isMine whether this replica owns the callbacks of an event */
  constructor(isMine: (event: string) => boolean) {
    this.#isMine = isMine;
  }

  /** `namespace/name` of all that are known. */
  keys(): Set<string> {
    return new Set(this.#known.keys());
  }

  /** Takes up one that is stored, which is due then. False when it can't be read. */
  add(namespace: string, name: string, text: string): boolean {
    const key = `${namespace}/${name}`;
    this.forget(key);
    const waiting = parseWaiting(text);
    if (waiting === undefined) return false;
    if (!this.#isMine(waiting.event)) return true;
    const known = { namespace, name, waiting, ...termsOf(waiting.request) };
    this.#known.set(key, known);
    const place = placeOf(known);
    const there: Callbacks = this.#byPlace.get(place) ?? new Map();
    this.#byPlace.set(place, there.set(key, known));
    this.#due.add(key);
    return true;
  }

  forget(key: string): void {
    const known = this.#known.get(key);
    if (known === undefined) return;
    this.#known.delete(key);
    this.#again.delete(key);
    const place = placeOf(known);
    const there = this.#byPlace.get(place);
    there?.delete(key);
    if (there?.size === 0) this.#byPlace.delete(place);
  }

  /** One that could not be tried now. */
  tryAgain({ namespace, name }: KnownCallback): void {
    this.#again.add(`${namespace}/${name}`);
  }

  /** A change of the feed. @returns whether any are due because of it */
  note(change: Change): boolean {
    const { id, type, put } = change;
    if (id.startsWith(PREFIX)) {
      const key = id.slice(PREFIX.length);
      if (type === "DELETED") this.forget(key);
      else {
        const [namespace = "", name = ""] = splitOnce(key);
        this.add(namespace, name, put["m"] ?? "");
      }
    } else if (id.startsWith(WORKFLOWS)) this.#noteWorkflow(change);
    return this.#due.size > 0;
  }

  /** Those that are to be tried now. @param time monotonic, ms. @param now epoch ms */
  takeDue(time: number, now: number): KnownCallback[] {
    if (time >= this.#sweepAt) {
      this.#sweepAt = time + SWEEP_EVERY_MS;
      for (const key of this.#again) this.#due.add(key);
      this.#again.clear();
      for (const [key, { waiting }] of this.#known) {
        if (waiting.expiresAt <= now) this.#due.add(key);
      }
    }
    const due = [...this.#due].flatMap((key) => this.#known.get(key) ?? []);
    this.#due.clear();
    return due;
  }

  #noteWorkflow({ id, put, index, mustLoad }: Change): void {
    const named = this.#byPlace.get(id);
    const chosen = this.#byPlace.get(id.slice(0, id.indexOf("/", WORKFLOWS.length) + 1));
    if (named === undefined && chosen === undefined) return;
    const nodes = [...suspendNodes(put)];
    if (nodes.length === 0 && mustLoad !== true) return;
    for (const callbacks of [named, chosen]) {
      for (const [key, known] of callbacks ?? []) {
        if (index !== undefined && !matchesLabels(known.labels, index.labels)) continue;
        const isAbout = mustLoad === true || nodes.some((node) => matchesNode(known.nodes, node));
        if (isAbout) this.#due.add(key);
      }
    }
  }
}

function placeOf({ namespace, waiting: { request } }: KnownCallback): string {
  return `${WORKFLOWS}${namespace}/${request.workflow ?? ""}`;
}

/** Selectors that can't be read choose everything: the first try tells what is wrong with them. */
function termsOf(
  { workflow, labelSelector = "", nodeFieldSelector }: CallbackRequest,
): Pick<KnownCallback, "labels" | "nodes"> {
  try {
    return {
      labels: workflow === undefined ? parseLabelSelector(labelSelector) : [],
      nodes: parseNodeFieldSelector(nodeFieldSelector),
    };
  } catch {
    return { labels: [], nodes: [] };
  }
}

/** Reads a stored callback; undefined when the text is not one. */
function parseWaiting(text: string): WaitingCallback | undefined {
  const waiting = parseOrUndefined(text);
  if (!isJsonObject(waiting)) return undefined;
  const { event, binding, request, sender, expiresAt } = waiting;
  const isWaiting = typeof event === "string" && typeof binding === "string" &&
    isJsonObject(request) && isJsonObject(sender) && Number.isFinite(expiresAt);
  return isWaiting ? waiting as unknown as WaitingCallback : undefined;
}

function splitOnce(key: string): [string, string] {
  const at = key.indexOf("/");
  return [key.slice(0, at), key.slice(at + 1)];
}
