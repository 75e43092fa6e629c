/** Deliveries of events: what the API says about them, and how it is shown. */
import type { BindingVerdict, ConditionPart } from "../../../http/routes/event_answers.ts";
import type { Look } from "./phases.ts";

/** What one binding did with an event. */
export interface Outcome {
  binding: string;
  outcome: "not-matched" | "submitted" | "resumed" | "stopped" | "waiting" | "error";
  /** Names, with commas between them. */
  workflow?: string;
  message?: string;
  /** It is tried again. */
  transient?: boolean;
}

export interface Delivery {
  id: string;
  namespace: string;
  discriminator: string;
  receivedAt: string;
  /** Of the body, in bytes. */
  size: number;
  state: "queued" | "done" | "dead";
  attempts: number;
  bindings: Outcome[];
  hasEvent?: boolean;
  retryAt?: string;
  unreadable?: { bytes: number; text?: string; base64?: string; isCut?: boolean };
}

export const STATES = ["queued", "done", "dead"] as const;

/** What the list shows; "" asks for nothing. */
export interface DeliveryFilters {
  namespace: string;
  state: string;
  discriminator: string;
  binding: string;
  /** Where the page begins; "" is the newest. */
  from: string;
}

/** Reads the filters from the query of the page. */
export function deliveryFilters(query: URLSearchParams): DeliveryFilters {
  const text = (key: string) => query.get(key) ?? "";
  const state = text("state");
  return {
    namespace: text("namespace"),
    state: (STATES as readonly string[]).includes(state) ? state : "",
    discriminator: text("discriminator"),
    binding: text("binding"),
    from: text("from"),
  };
}

/** What became of an event, in one word of `TEXTS.events.words`. */
export type DeliveryWord = "queued" | "retried" | "matched" | "unmatched" | "dead" | "unreadable";

export function wordOfDelivery({ state, attempts, bindings, unreadable }: Delivery): DeliveryWord {
  if (state === "queued") return attempts > 0 ? "retried" : "queued";
  if (state === "dead") return unreadable === undefined ? "dead" : "unreadable";
  return bindings.some(({ outcome }) => outcome !== "not-matched") ? "matched" : "unmatched";
}

export const DELIVERY_LOOKS: Readonly<Record<DeliveryWord, Look>> = {
  queued: "Pending",
  retried: "Waiting",
  matched: "Succeeded",
  unmatched: "Skipped",
  dead: "Failed",
  unreadable: "Error",
};

export const OUTCOME_LOOKS: Readonly<Record<Outcome["outcome"], Look>> = {
  "not-matched": "Skipped",
  submitted: "Succeeded",
  resumed: "Succeeded",
  stopped: "Succeeded",
  waiting: "Waiting",
  error: "Failed",
};

/** Those that did something first, in the order of the record; then those that did not match. */
export function sortedOutcomes(bindings: readonly Outcome[]): Outcome[] {
  const rank = ({ outcome }: Outcome) =>
    outcome === "error" ? 0 : outcome === "not-matched" ? 2 : 1;
  return [...bindings].sort((a, b) => rank(a) - rank(b));
}

/** Names of the workflows that an outcome is about. */
export function workflowsOf({ workflow }: Pick<Outcome, "workflow">): string[] {
  return workflow === undefined ? [] : workflow.split(", ").filter((name) => name !== "");
}

/** What of an error fits into a row: without the expression, which the page of the event shows. */
export function shortReason(message: string): string {
  const reason = message
    .replace(/^failed to evaluate workflow template expression: /, "")
    .replace(/^unable to evaluate expression '[^]*?': /, "");
  return reason.split("\n")[0] ?? "";
}

/** One binding on the page of an event: what it did then, and what its selector says now. */
export interface BindingStory {
  binding: string;
  outcome?: Outcome;
  verdict?: BindingVerdict;
  /** The binding has changed since: it would not do the same now. */
  hasChanged: boolean;
}

/** Joins the record with the explanation. Those with neither match nor error come last. */
export function storiesOf(
  outcomes: readonly Outcome[],
  verdicts: readonly BindingVerdict[],
): BindingStory[] {
  const known = new Map(verdicts.map((one) => [one.binding, one]));
  const recorded = sortedOutcomes(outcomes).map((outcome): BindingStory => {
    const verdict = known.get(outcome.binding);
    known.delete(outcome.binding);
    return {
      binding: outcome.binding,
      outcome,
      ...(verdict && { verdict }),
      hasChanged: verdict !== undefined && verdict.verdict !== "error" &&
        outcome.outcome !== "error" &&
        (verdict.verdict === "selected") !== wasSelected(outcome),
    };
  });
  const others = [...known.values()].map((verdict): BindingStory => ({
    binding: verdict.binding,
    verdict,
    hasChanged: false,
  }));
  return [...recorded, ...others];
}

/** A binding that submits nothing is selected all the same. */
function wasSelected({ outcome, message }: Outcome): boolean {
  return outcome !== "not-matched" || message !== undefined;
}

/** Parts that were false, failed or were true where that decides: what a reader looks for first. */
export function decidingParts(part: ConditionPart): ConditionPart[] {
  const { parts = [], operator, verdict } = part;
  if (parts.length === 0 || verdict === "skipped") return verdict === "skipped" ? [] : [part];
  const isDecisive = (one: ConditionPart) =>
    operator === "not" || one.verdict === verdict || one.verdict === "error";
  return parts.filter(isDecisive).flatMap(decidingParts);
}

/** Reads lines of `x-name: value`. @returns undefined for a line that is none */
export function headersOf(text: string): Record<string, string[]> | undefined {
  const headers: Record<string, string[]> = {};
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const [, name = "", value = ""] = /^\s*([\w-]+)\s*:\s*(.*?)\s*$/.exec(line) ?? [];
    if (name === "") return undefined;
    const key = name.toLowerCase();
    headers[key] = [...headers[key] ?? [], value];
  }
  return headers;
}

/** The lines that `headersOf` reads. */
export function headerLines(headers: Readonly<Record<string, readonly string[]>>): string {
  return Object.entries(headers)
    .flatMap(([name, values]) => values.map((value) => `${name}: ${value}`)).join("\n");
}

/** A number of bytes with its unit. */
export function bytesText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const kib = bytes / 1024;
  return kib < 1024 ? `${kib.toFixed(kib < 10 ? 1 : 0)} KiB` : `${(kib / 1024).toFixed(1)} MiB`;
}
