/** A server of several processes, as `--processes` starts it, and its processes one by one. */
import process from "node:process";
import { freePort } from "./free_port.ts";
import { type ServerProcess, startServer } from "./server_process.ts";
import { until } from "./until.ts";

export class ProcessGroup {
  /** Its parent; `log` has the lines of all. */
  readonly server: ServerProcess;
  readonly #events: ProcessEvents;

  private constructor(server: ServerProcess, events: ProcessEvents) {
    this.server = server;
    this.#events = events;
  }

  /**
   * Starts a server and waits until all its processes are ready.
   *
   * @param flags besides `--processes` and `--log-level`; `--port` is a free one unless it is given
   */
  static async start(count: number, flags: string[]): Promise<ProcessGroup> {
    const events: ProcessEvents = { pids: Array<number>(count).fill(0), ready: 0 };
    const server = await startServer([
      `--port=${await freePort()}`,
      `--processes=${count}`,
      "--log-level=info",
      ...flags,
    ], { onLine: (line) => note(events, line) });
    const group = new ProcessGroup(server, events);
    await group.untilReady(count);
    return group;
  }

  /** Process ids, those of the last starts, by number from 1. */
  pids(): number[] {
    return [...this.#events.pids];
  }

  /** Waits until processes have become ready so many times in all. */
  async untilReady(times: number): Promise<void> {
    await until(() => this.#events.ready >= times, { otherwise: "not ready" });
  }

  /** Kills one without warning, and waits until another is at its place. */
  async killOne(number: number): Promise<void> {
    const { ready } = this.#events;
    process.kill(this.pids()[number - 1] ?? 0, "SIGKILL");
    await this.untilReady(ready + 1);
  }

  /** A figure of the metrics page for each process: the sum of the series of a metric. */
  async figures(metric: string): Promise<number[]> {
    const text = await (await fetch(`${this.server.url}/metrics`)).text();
    const sums = this.#events.pids.map(() => 0);
    const pattern = new RegExp(`^${metric}\\{sluice_process="(\\d+)"[^ ]* (\\S+)$`, "gm");
    for (const [, number, value] of text.matchAll(pattern)) {
      sums[Number(number) - 1] = (sums[Number(number) - 1] ?? 0) + Number(value);
    }
    return sums;
  }

  /** Kills whatever is left of it. */
  async end(): Promise<void> {
    const pids = this.pids();
    await this.server.kill();
    for (const pid of pids) if (isAlive(pid)) process.kill(pid, "SIGKILL");
  }
}

/** What the log has told so far. */
interface ProcessEvents {
  pids: number[];
  /** How often a process became ready. */
  ready: number;
}

function note(events: ProcessEvents, line: string): void {
  if (line.includes('"msg":"ready"')) events.ready++;
  if (!line.includes('"msg":"process started"')) return;
  const { process, pid } = JSON.parse(line) as { process: number; pid: number };
  events.pids[process - 1] = pid;
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
