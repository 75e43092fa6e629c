/**
 * A small kind of actor for tests of the host: it counts. `add` adds one, `task` starts a task whose outcome adds 100,
 * `timer` sets a timer that adds 10,000 when it fires, `defect` throws as a bug of ours would. As with workflows, a
 * repeated outcome changes nothing.
 */
import { partTexts } from "../../src/base/part_text.ts";
import { alreadyExists, invalid, notFound } from "../../src/base/problem.ts";
import type { ActorKind, HotActor, Taken } from "../../src/actors/hot_actor.ts";
import type { TaskSpec } from "../../src/engine/effect.ts";
import type { ActorId, StoredActor } from "../../src/store/port.ts";
import { taskSpec } from "./task_spec.ts";

export interface TallyBody {
  type: string;
  /** Timer: due time, epoch ms. */
  at?: number;
  /** Outcome of a task: its id. */
  task?: string;
}

export interface TallyAnswer {
  count: number;
  version: string | undefined;
}

class Tally implements HotActor {
  readonly id: ActorId;
  #count: number | undefined;
  /** Tasks that run. */
  readonly #tasks: Set<string>;
  #started: number;
  #isChanged = false;
  #effects: Taken["effects"] = [];

  constructor(id: ActorId, stored: StoredActor | undefined) {
    this.id = id;
    this.#count = stored ? Number(stored.parts["count"]) : undefined;
    this.#tasks = new Set(JSON.parse(stored?.parts["tasks"] ?? "[]") as string[]);
    this.#started = Number(stored?.parts["started"] ?? 0);
  }

  exists(): boolean {
    return this.#count !== undefined;
  }

  receive(body: unknown) {
    const { type, at, task: ended } = body as TallyBody;
    if (type === "submit") {
      if (this.#count !== undefined) throw alreadyExists("exists");
      this.#count = 0;
    } else if (this.#count === undefined) throw notFound("missing");
    else if (type === "delete") {
      this.#count = undefined;
      this.#effects.push({ type: "clear-timer", id: "t" });
    } else if (type === "add") this.#count++;
    else if (type === "task") {
      const task: TaskSpec = { ...taskSpec("n", {}), id: `${this.id}/${++this.#started}` };
      this.#tasks.add(task.id);
      this.#effects.push({ type: "start-task", id: `start/${task.id}`, task });
    } else if (type === "task-ended") this.#count += this.#tasks.delete(ended ?? "") ? 100 : 0;
    else if (type === "timer") this.#effects.push({ type: "set-timer", id: "t", at: at ?? 0 });
    else if (type === "timer-fired") this.#count += 10_000;
    else if (type === "defect") {
      this.#count = -1;
      throw new Error("a defect");
    } else if (type !== "task-started") throw invalid(`unknown ${type}`);
    this.#isChanged = true;
    const count = this.#count ?? -1;
    return (version: string | undefined): TallyAnswer => ({ count, version });
  }

  advance(): void {}

  take(): Taken {
    const put: Record<string, string> = this.#isChanged
      ? {
        count: String(this.#count),
        tasks: JSON.stringify([...this.#tasks]),
        started: String(this.#started),
      }
      : {};
    const taken: Taken = { put: partTexts(put), drop: [], effects: this.#effects, needs: [] };
    this.#isChanged = false;
    this.#effects = [];
    return taken;
  }

  weight(): number {
    return 1;
  }

  isGrowing(): boolean {
    return false;
  }

  rests(): boolean {
    return this.#tasks.size === 0;
  }
}

export const tallyKind: ActorKind = {
  prefix: "wf/",
  silent: false,
  creates: (body) => (body as unknown as TallyBody).type === "submit",
  hydrate: (id, stored) => new Tally(id, stored),
  answers: {
    withVersion: (answer, version) => ({ ...(answer as object), version }),
    view: ({ parts, version }) => ({ count: Number(parts["count"]), version }),
  },
};
