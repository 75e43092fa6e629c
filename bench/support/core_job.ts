/** The core job, as all benchmarks of it submit it: a trigger step over HTTP, then a wait for whoever resumes it. */
import type { WorkflowTemplate } from "../../src/spec/manifest.ts";

/** The template of the job. @param stepPort where the trigger step's server listens on this machine */
export function coreTemplate(stepPort: number): WorkflowTemplate {
  const url = `http://127.0.0.1:${stepPort}/{{workflow.name}}`;
  const uuid = [{ name: "uuid", value: "{{workflow.parameters.uuid}}" }];
  return {
    metadata: { name: "job" },
    spec: {
      entrypoint: "main",
      arguments: { parameters: [{ name: "uuid", value: "none" }] },
      templates: [
        {
          name: "main",
          steps: [
            [{ name: "trigger", template: "trigger" }],
            [{ name: "wait", template: "wait", arguments: { parameters: uuid } }],
          ],
        },
        { name: "trigger", http: { url, method: "POST" } },
        { name: "wait", inputs: { parameters: [{ name: "uuid" }] }, suspend: {} },
      ],
    },
  };
}
