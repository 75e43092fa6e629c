/** What the editor of a new manifest begins with. Each works as it is. */
import type { StoredKindName } from "../../paths.ts";

const TEMPLATE = `metadata:
  name: my-template
spec:
  entrypoint: main
  arguments:
    parameters:
      - name: message
        value: hello
  templates:
    - name: main
      container:
        image: busybox
        command: [echo, "{{workflow.parameters.message}}"]
`;

export const EXAMPLES: Readonly<Record<StoredKindName, string>> = {
  WorkflowTemplate: TEMPLATE,
  ClusterWorkflowTemplate: TEMPLATE,
  CronWorkflow: `metadata:
  name: my-cron
spec:
  schedules:
    - "0 9 * * 1-5"
  timezone: UTC
  concurrencyPolicy: Forbid
  workflowSpec:
    entrypoint: main
    templates:
      - name: main
        container:
          image: busybox
          command: [echo, hello]
`,
  // It goes with the example of a template.
  WorkflowEventBinding: `metadata:
  name: my-binding
spec:
  event:
    selector: discriminator == "build" && payload.action == "done"
  submit:
    workflowTemplateRef:
      name: my-template
    arguments:
      parameters:
        - name: message
          valueFrom:
            event: payload.message
`,
};
