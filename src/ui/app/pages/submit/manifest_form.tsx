/** A manifest of a workflow to write or paste. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Workflow } from "../../../../spec/manifest.ts";
import { api } from "../../data/api.ts";
import { keepText, keptText } from "../../data/kept.ts";
import { readYaml } from "../../data/yaml.ts";
import { ManifestField, useManifestCheck, Verdict } from "../../parts/manifest_field.tsx";
import { SubmitForm } from "./submit_form.tsx";

const EXAMPLE = `metadata:
  generateName: hello-
spec:
  entrypoint: main
  templates:
    - name: main
      container:
        image: busybox
        command: [echo, hello]
`;
/** What was written stays over a reload of the page. */
const STORED = "sluice-manifest";

export function ManifestForm({ namespace }: { namespace: string }): JSX.Element {
  const [text, setText] = useState(keptText("visit", STORED) ?? EXAMPLE);
  const { problems, check } = useManifestCheck(
    text,
    "Workflow",
    (workflow) =>
      api.call("WorkflowService_LintWorkflow", {
        params: { namespace },
        body: { workflow: workflow as Workflow },
      }),
  );
  const change = (changed: string) => {
    keepText("visit", STORED, changed);
    setText(changed);
  };
  return (
    <SubmitForm
      namespace={namespace}
      about={`${namespace}\n${text}`}
      isRefused={problems !== undefined && problems.length > 0}
      create={async (idempotencyKey) =>
        api.callMinimal("WorkflowService_CreateWorkflow", {
          params: { namespace },
          body: { workflow: await readYaml<Workflow>(text) },
          idempotencyKey,
        })}
      dryRun={async () =>
        api.call("WorkflowService_CreateWorkflow", {
          params: { namespace },
          body: { workflow: await readYaml<Workflow>(text), serverDryRun: true },
        })}
      onMade={() => keepText("visit", STORED, undefined)}
    >
      <ManifestField
        key={namespace}
        schema="Workflow"
        text={text}
        change={change}
        check={check}
      />
      <Verdict text={text} problems={problems} />
    </SubmitForm>
  );
}
