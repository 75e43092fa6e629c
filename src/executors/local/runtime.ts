/**
 * What differs between the executors of one machine: how a container is started, found again, read and ended. Everything
 * else of a task (order, artifacts, deadlines, outcome) is `task.ts`.
 */
import type { TaskSpec } from "../../engine/effect.ts";
import type { PlannedContainer } from "../container_plan.ts";
import type { Place } from "../../platform/files/place.ts";
import type { HostFacts } from "./environment.ts";
import type { Mount } from "./path_map.ts";
import type { LogLine, LogQuery } from "../port.ts";
import type { TaskFolder } from "./scratch.ts";

export interface ContainerLaunch {
  task: TaskSpec;
  folder: TaskFolder;
  /** Folder of this run; decides its identity. */
  dir: string;
  container: PlannedContainer;
  env: Record<string, string>;
  /** Volumes first, then input artifacts that lie in none. */
  mounts: Mount[];
  /** Absolute paths that the template reads after the end. */
  outputPaths: string[];
}

/** How a container ended; `fault` when nobody knows. */
export type ContainerEnd =
  | { code: number; reason?: string; startedAt: number; finishedAt: number }
  | { fault: string };

export interface RunningContainer {
  readonly ended: Promise<ContainerEnd>;
  /** Address under which other tasks reach it, where it isn't the machine's. */
  readonly podIp?: string;
  /** Ends it gently, hard after the grace period. Resolves when it is gone. */
  stop(graceMs: number): Promise<void>;
  /**
   * Place of a path of the container on this machine, undefined when nothing is there. Only after its end.
   *
   * @param maxBytes Of all that is there; more is an error where it has to be copied first.
   */
  locate(path: string, maxBytes: number): Promise<Place | undefined>;
  /** The end of its stdout, 256 kB or more if there is as much. */
  stdout(): Promise<Uint8Array>;
  /** Notes what can only be known while it runs. Called about twice a second. */
  sample?(): Promise<void>;
}

export interface LocalRuntime {
  /** Name of the executor, for messages. */
  readonly name: string;
  readonly host: HostFacts;
  /** Why a task may not run here, if it may not. */
  refuses?(task: TaskSpec): string | undefined;
  /**
   * Where an input artifact has to lie that is in no volume; absent: anywhere, it is mounted.
   *
   * @param path as the template has it
   */
  inputPlace?(folder: TaskFolder, path: string): Place;
  /** Where a container finds the file for its progress. */
  progressPath(dir: string): string;
  /**
   * Starts or finds the container.
   *
   * @throws {StartFault} when it can't be started.
   */
  launch(launch: ContainerLaunch): Promise<RunningContainer>;
  /** Ends whatever runs for a task, whoever started it. Resolves when it is gone. */
  stop(folder: TaskFolder, graceMs: number): Promise<void>;
  /** Lines of a container; `isOver` tells that the task starts no more containers. */
  logs(
    folder: TaskFolder,
    query: LogQuery,
    isOver: () => Promise<boolean>,
  ): AsyncIterable<LogLine>;
  /** Removes what it keeps outside the task's folder; the folder still tells the rest. */
  release(folder: TaskFolder): Promise<void>;
  close(): void;
}
