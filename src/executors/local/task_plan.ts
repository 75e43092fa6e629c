/** What a task on one machine consists of, and what it works with. */
import type { ArtifactStore } from "../../artifacts/port.ts";
import type { ConfigSource } from "../../artifacts/config_source.ts";
import type { TaskSpec } from "../../engine/effect.ts";
import type { Clock } from "../../platform/clock.ts";
import type { PlannedContainer } from "../container_plan.ts";
import type { LocalRuntime } from "./runtime.ts";
import type { Scratch, TaskFolder } from "./scratch.ts";

export interface TaskPlan {
  task: TaskSpec;
  folder: TaskFolder;
  containers: readonly PlannedContainer[];
}

export interface LocalTaskDeps {
  runtime: LocalRuntime;
  scratch: Scratch;
  /** Absent: artifacts fail with a message. */
  artifacts: ArtifactStore | undefined;
  config: ConfigSource;
  clock: Clock;
  /** Most bytes of one artifact. */
  maxArtifactBytes: number;
}
