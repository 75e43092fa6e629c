/**
 * Tasks that this replica owns and cannot go on with: another replica runs them, or they live where no replica is known to
 * be. A replica that is silent may only have lost its way to the store, or may be starting again, and its processes go on
 * meanwhile. So a task is given up only when nobody has come back to its place for a while.
 */
import type { TaskSpec } from "../engine/effect.ts";
import type { Clock } from "../platform/clock.ts";
import type { ActorId } from "../store/port.ts";
import type { EffectShard } from "./effects.ts";
import { type OutboxRow, taskRowId } from "./shard/outbox.ts";
import type { Tasks } from "./tasks.ts";

/** How often the replicas that should run a task are asked whether they do. */
const ASK_EVERY_MS = 5_000;
/** How long a task whose replica is silent waits for one at its place, in times of a lease. */
const LEASES_OF_GRACE = 10;

/** A task that waits for a replica at its place. */
export interface SoughtTask {
  actor: ActorId;
  task: TaskSpec;
  place: string;
}

export interface ElsewhereDeps {
  /** Name of this replica. */
  replica: string;
  /** Live replicas, as far as is known. */
  replicas(): readonly string[];
  leaseTtlMs: number;
  tasks: Pick<Tasks, "isTied" | "placeOf">;
  clock: Clock;
  /** Asks a replica which of these tasks it does not run; its answer comes to `notRunning`. */
  askAbout(replica: string, tasks: string[]): void;
  /** Asks a replica to go on with a task if it is at its place; its answer comes to `adopted`. */
  seek(replica: string, sought: SoughtTask): void;
}

type TaskRow = OutboxRow & { effect: { type: "start-task" } };

interface Entry {
  readonly shard: EffectShard;
  row: TaskRow;
  /** Since when its replica has been silent, by the monotonic clock. */
  lostAt?: number | undefined;
  /** Replicas that were asked whether they are at its place. */
  readonly asked: Set<string>;
}

export class TasksElsewhere {
  readonly #deps: ElsewhereDeps;
  readonly #takeOver: (shard: EffectShard, row: OutboxRow) => void;
  readonly #entries = new Set<Entry>();
  #isAsking = false;

  /** @param takeOver called with a task that this replica has to start, adopt or give up */
  constructor(deps: ElsewhereDeps, takeOver: (shard: EffectShard, row: OutboxRow) => void) {
    this.#deps = deps;
    this.#takeOver = takeOver;
  }

  /** Takes a row of a shard that is new here, if another replica runs its task or may come back to it. */
  take(shard: EffectShard, row: OutboxRow): boolean {
    if (!isTask(row) || !(this.#isElsewhere(row) || this.#isOutOfReach(row))) return false;
    this.#entries.add({ shard, row, asked: new Set() });
    return true;
  }

  /** Looks after the tasks of replicas that are gone. */
  look(): void {
    for (const entry of this.#entries) {
      const { shard, row } = entry;
      const isWanted = shard.isHeld && shard.rows.has(row.id);
      if (isWanted && this.#mayGoOn(entry)) continue;
      this.#entries.delete(entry);
      if (isWanted) this.#takeOver(shard, row);
    }
    this.#ask();
  }

  /** A replica says that it does not run these tasks: it lost its shard before it could start them. */
  notRunning(tasks: string[]): void {
    for (const entry of this.#entriesOf(tasks)) {
      this.#entries.delete(entry);
      const { place: _, ...row } = entry.row;
      if (entry.shard.isHeld && entry.shard.rows.has(row.id)) this.#takeOver(entry.shard, row);
    }
  }

  /** A replica at the place of a task goes on with it. */
  adopted(replica: string, task: string): void {
    for (const entry of this.#entriesOf([task])) {
      if (entry.lostAt === undefined) continue;
      entry.row = { ...entry.row, replica };
      entry.shard.rewrite(entry.row.id, () => entry.row);
      entry.lostAt = undefined;
    }
  }

  #entriesOf(tasks: string[]): Entry[] {
    const rows = new Set(tasks.map(taskRowId));
    return [...this.#entries].filter(({ row }) => rows.has(row.id));
  }

  #isElsewhere({ effect, replica }: TaskRow): boolean {
    return replica !== undefined && replica !== this.#deps.replica &&
      this.#deps.replicas().includes(replica) && this.#deps.tasks.isTied(effect.task);
  }

  /** True for a task that may still run where this replica is not. */
  #isOutOfReach({ effect, place }: TaskRow): boolean {
    return place !== undefined && place !== this.#deps.tasks.placeOf(effect.task);
  }

  #mayGoOn(entry: Entry): boolean {
    const { clock, leaseTtlMs } = this.#deps;
    if (this.#isElsewhere(entry.row)) {
      entry.lostAt = undefined;
      return true;
    }
    if (!this.#isOutOfReach(entry.row)) return false;
    entry.lostAt ??= clock.monotonic();
    return clock.monotonic() - entry.lostAt < LEASES_OF_GRACE * leaseTtlMs;
  }

  #ask(): void {
    const running = new Map<string, string[]>();
    for (const entry of this.#entries) {
      const { effect: { task }, replica = "" } = entry.row;
      if (entry.lostAt !== undefined) this.#seek(entry);
      else running.set(replica, [...running.get(replica) ?? [], task.id]);
    }
    if (this.#isAsking || this.#entries.size === 0) return;
    for (const [replica, tasks] of running) this.#deps.askAbout(replica, tasks);
    this.#isAsking = true;
    this.#deps.clock.after(ASK_EVERY_MS, () => {
      this.#isAsking = false;
      this.look();
    });
  }

  #seek({ row: { actor, effect: { task }, place = "" }, asked }: Entry): void {
    for (const replica of this.#deps.replicas()) {
      if (replica === this.#deps.replica || asked.has(replica)) continue;
      asked.add(replica);
      this.#deps.seek(replica, { actor, task, place });
    }
  }
}

function isTask(row: OutboxRow): row is TaskRow {
  return row.effect.type === "start-task";
}

/** Message of a step that only the server that ran it could have gone on with. */
export function lostTaskMessage({ replica, place }: OutboxRow): string {
  return `The server ${replica} that ran this step is gone, and no other one is at its place (${place}): what became of ` +
    "the step is unknown. A retryStrategy with retryPolicy OnError or Always runs it again";
}
