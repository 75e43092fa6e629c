/** Tasks for tests of executors. */
import type { Fact, TaskOutcome } from "../../src/engine/command.ts";
import type { TaskSpec } from "../../src/engine/effect.ts";
import type { Report } from "../../src/executors/port.ts";
import type { Template } from "../../src/spec/manifest.ts";

/** A task around a template; `id` makes it unique. */
export function taskSpec(
  id: string,
  template: Template,
  more: Partial<TaskSpec> = {},
): TaskSpec {
  return {
    id: `uid-1/${id}/1`,
    namespace: "default",
    workflow: "wf",
    workflowUid: "uid-1",
    nodeId: id,
    nodeName: `wf.${id}`,
    displayName: id,
    podName: `wf-${id}`,
    template,
    includeResult: false,
    podSpec: {},
    artifactPrefix: `wf/wf-${id}`,
    ...more,
  };
}

/** A task around a shell script. */
export function shellTask(id: string, text: string, more: Partial<TaskSpec> = {}): TaskSpec {
  return taskSpec(id, shell(text), { includeResult: true, ...more });
}

/** A template around a shell script. */
export function shell(text: string, more: Template = {}): Template {
  return { container: { image: "localhost/box:1", command: ["/bin/sh", "-c", text] }, ...more };
}

export interface Reports {
  report: Report;
  facts: Fact[];
  /** Resolves with the outcome. */
  ended: Promise<TaskOutcome>;
  /** Resolves when the task runs. */
  started: Promise<void>;
}

/** Collects an executor's reports on one task. */
export function collectReports(): Reports {
  const facts: Fact[] = [];
  const ended = Promise.withResolvers<TaskOutcome>();
  const started = Promise.withResolvers<void>();
  return {
    facts,
    ended: ended.promise,
    started: started.promise,
    report(fact) {
      facts.push(fact);
      if (fact.type === "task-started") started.resolve();
      if (fact.type === "task-ended") ended.resolve(fact.outcome);
    },
  };
}
