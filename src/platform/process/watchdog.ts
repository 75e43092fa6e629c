/**
 * Tells when the event loop was blocked, and by what. A timer shows that it was; the pieces of work that were noted since
 * the timer's last turn show by what: the one after which nothing was noted for longest.
 */
import type { WorkKind } from "../../base/work.ts";
import { type Clock, untilBeat } from "../clock.ts";
import type { Logger } from "../log.ts";
import type { Metrics } from "../metrics.ts";
import { Seldom } from "../seldom.ts";

/** How often the loop is looked at, ms: less than this is not noticed. */
const TURN_MS = 200;
/** From here on a block is counted, and told each time, ms. */
const BLOCKED_MS = 1_000;
/** From here on it is told, seldom, if it was the work of this process and not of others on the machine, ms. */
const SHORT_MS = 250;
/** Share of a short block that must be processor time of this process. */
const OWN_SHARE = 0.8;
/** Longest text of an expression in the log. */
const MAX_SHOWN = 500;

/** A piece of work, and how long it was until the next one. */
interface Piece {
  kind: WorkKind | "unknown";
  name: string;
  expression: string | undefined;
  ms: number;
}

export interface WatchdogDeps {
  clock: Pick<Clock, "monotonic" | "after">;
  log: Pick<Logger, "warn">;
  metrics: Metrics;
  /** Processor time of this process so far, ms. */
  cpuMs: () => number;
}

const NOTHING: Piece = { kind: "unknown", name: "", expression: undefined, ms: 0 };

export class Watchdog {
  readonly #deps: WatchdogDeps;
  readonly #short: Seldom;
  #kind: Piece["kind"] = "unknown";
  #name = "";
  #expression: string | undefined;
  #since: number;
  #longest: Piece = NOTHING;

  constructor(deps: WatchdogDeps) {
    this.#deps = deps;
    this.#short = new Seldom(deps.clock);
    this.#since = deps.clock.monotonic();
  }

  /** Notes that a piece of work begins; for `observeWork`. */
  note = (kind: WorkKind, name: string): void => {
    // To look at the clock costs more than all else here.
    if (kind === this.#kind && name === this.#name && this.#expression === undefined) return;
    this.#close();
    if (kind === "expression") this.#expression = name;
    else {
      this.#kind = kind;
      this.#name = name;
      this.#expression = undefined;
    }
  };

  /** Looks at the loop until the signal aborts. */
  start(signal: AbortSignal): void {
    const { clock, metrics, cpuMs } = this.#deps;
    const delay = metrics.histogram(
      "sluice_event_loop_delay_seconds",
      "How late a timer of the event loop was, five times a second",
    );
    const blocked = metrics.counter(
      "sluice_event_loop_blocked_total",
      "Times that the event loop was blocked for more than a second, by what it worked on",
    );
    let cancel = () => {};
    const look = () => {
      const now = clock.monotonic();
      const turnMs = untilBeat(now, TURN_MS);
      const due = now + turnMs;
      const cpuBefore = cpuMs();
      cancel = clock.after(turnMs, () => {
        const late = Math.max(0, clock.monotonic() - due);
        this.#close();
        delay.observe(late / 1000);
        if (late >= BLOCKED_MS) {
          blocked.inc({ by: this.#longest.kind });
          this.#tell(late, cpuMs() - cpuBefore);
        } else if (late >= SHORT_MS) this.#tellShort(late, cpuMs() - cpuBefore);
        // What goes on now was noted before others had their turn: nobody knows whether it is that.
        this.#kind = "unknown";
        this.#name = "";
        this.#expression = undefined;
        this.#longest = NOTHING;
        look();
      });
    };
    look();
    signal.addEventListener("abort", () => cancel(), { once: true });
  }

  /** Ends the piece of work that was noted last. */
  #close(): void {
    const now = this.#deps.clock.monotonic();
    const ms = now - this.#since;
    if (ms > this.#longest.ms) {
      this.#longest = { kind: this.#kind, name: this.#name, expression: this.#expression, ms };
    }
    this.#since = now;
  }

  /** Tells of the first short block by a kind of work, and then of few: there may be one after the other. */
  #tellShort(blockedMs: number, cpuMs: number): void {
    if (cpuMs < OWN_SHARE * blockedMs) return;
    const passedOver = this.#short.ask(this.#longest.kind);
    if (passedOver !== undefined) this.#tell(blockedMs, cpuMs, passedOver);
  }

  #tell(blockedMs: number, cpuMs: number, passedOver = 0): void {
    const { kind, name, expression, ms } = this.#longest;
    // Much less processor time than that: it was not our work, the process was stopped or had no processor.
    this.#deps.log.warn({
      blockedMs: Math.round(blockedMs),
      cpuMs: Math.round(cpuMs),
      ...(kind === "unknown" ? {} : { [kind === "request" ? "requestId" : kind]: name }),
      ...(expression === undefined ? {} : { expression: expression.slice(0, MAX_SHOWN) }),
      pieceMs: Math.round(ms),
      ...(passedOver > 0 && { passedOver }),
    }, "event loop was blocked");
  }
}
