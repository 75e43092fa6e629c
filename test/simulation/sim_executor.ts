/**
 * Simulated tasks. A task's outcome depends only on its name, so the same workflow ends in the same way whatever
 * happens to the replicas. The seed decides when it ends and how often that is reported.
 */
import type { Fact, TaskOutcome } from "../../src/engine/command.ts";
import type { TaskSpec } from "../../src/engine/effect.ts";
import type { Executor, Report } from "../../src/executors/port.ts";
import { outcomeOf } from "./catalogue.ts";
import type { Coverage } from "./coverage.ts";
import type { SimClock, SimProcess } from "./sim_clock.ts";

type TaskFact = Extract<Fact, { task: string }>;

interface Task {
  spec: TaskSpec;
  isCancelled: boolean;
  outcome: TaskOutcome | undefined;
  reports: { process: SimProcess; report: Report }[];
}

export interface TaskDeps {
  clock: SimClock;
  random: () => number;
  coverage: Coverage;
}

/** A place where tasks run: a cluster that all replicas share, or the machine of one replica. */
export class TaskPlace {
  readonly #deps: TaskDeps;
  readonly #tasks = new Map<string, Task>();
  readonly #isTied: boolean;

  /** @param isTied tasks end with the replica that started them */
  constructor(deps: TaskDeps, isTied: boolean) {
    this.#deps = deps;
    this.#isTied = isTied;
  }

  /** Tasks that are running. */
  get running(): TaskSpec[] {
    return [...this.#tasks.values()]
      .filter(({ isCancelled, outcome }) => !isCancelled && outcome === undefined)
      .map(({ spec }) => spec);
  }

  /** Ends all running tasks. */
  endAll(): void {
    for (const { id } of this.running) this.#end(id);
  }

  /** The place as an executor of one replica. */
  executorOf(process: SimProcess): Executor {
    return {
      name: "simulated",
      isTied: () => this.#isTied,
      refuses: () => undefined,
      start: (spec, report) => {
        this.#start(spec, process, report);
        return Promise.resolve();
      },
      cancel: (id) => {
        this.#cancel(id);
        return Promise.resolve();
      },
      async *logs() {},
      clean: () => Promise.resolve(),
      close: () => Promise.resolve(),
    };
  }

  #start(spec: TaskSpec, process: SimProcess, report: Report): void {
    const { clock, random, coverage } = this.#deps;
    let task = this.#tasks.get(spec.id);
    const isNew = task === undefined;
    coverage.add(isNew ? "task: started" : "task: adopted");
    task ??= { spec, isCancelled: false, outcome: undefined, reports: [] };
    this.#tasks.set(spec.id, task);
    if (task.isCancelled) return;
    task.reports.push({ process, report });
    this.#tell(process, report, { type: "task-started", task: spec.id });
    if (task.outcome) this.#report(task, process, report);
    if (!isNew) return;
    const kind = random();
    // The others run until the world ends them.
    if (kind < 0.9) {
      clock.after(kind < 0.5 ? random() * 50 : random() * 4_000, () => this.#end(spec.id));
    }
  }

  #cancel(id: string): void {
    const task = this.#tasks.get(id);
    if (task === undefined || task.isCancelled) return;
    if (task.outcome === undefined) this.#deps.coverage.add("task: cancelled");
    task.isCancelled = true;
  }

  #end(id: string): void {
    const task = this.#tasks.get(id);
    if (task === undefined || task.isCancelled || task.outcome !== undefined) return;
    task.outcome = outcomeOf(task.spec);
    for (const { process, report } of task.reports) this.#report(task, process, report);
  }

  #report(task: Task, process: SimProcess, report: Report): void {
    if (task.outcome === undefined) return;
    const fact: TaskFact = {
      type: "task-ended",
      task: task.spec.id,
      outcome: task.outcome,
    };
    this.#tell(process, report, fact);
    if (this.#deps.random() >= 0.15) return;
    this.#deps.coverage.add("task: reported twice");
    this.#tell(process, report, fact);
  }

  #tell(process: SimProcess, report: Report, fact: TaskFact): void {
    this.#deps.clock.after(this.#deps.random() * 20, () => process.enter(() => report(fact)));
  }
}
