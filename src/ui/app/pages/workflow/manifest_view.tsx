/** The manifest: as it was submitted, and with what templates and defaults added. */
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { Workflow } from "../../../../spec/manifest.ts";
import { session } from "../../data/session.ts";
import { useStore } from "../../data/use_store.ts";
import { ChoiceChips } from "../../parts/choice_chips.tsx";
import { CodeView } from "../../parts/code_view.tsx";
import { TEXTS } from "../../texts.ts";

type Form = "submitted" | "run" | "whole";
const FORMS: readonly Form[] = ["submitted", "run", "whole"];

/** What the service notes about a workflow, after the prefix of its labels. */
const NOTED: ReadonlySet<string> = new Set([
  "phase",
  "completed",
  "workflow-archiving-status",
  "pod-name-format",
]);

function contentOf({ metadata, spec, status }: Workflow, form: Form, prefix: string): unknown {
  const { name, generateName, namespace } = metadata;
  const given = (of: Record<string, string> = {}) => {
    const entries = Object.entries(of)
      .filter(([key]) => !key.startsWith(prefix) || !NOTED.has(key.slice(prefix.length)));
    return entries.length === 0 ? undefined : Object.fromEntries(entries);
  };
  const labels = given(metadata.labels);
  const annotations = given(metadata.annotations);
  const kept = { metadata: { name, generateName, namespace, labels, annotations } };
  if (form === "submitted") return { ...kept, spec };
  if (form === "run") return { ...kept, spec: status?.storedWorkflowTemplateSpec ?? spec };
  return { metadata, spec, status };
}

export function ManifestView({ workflow }: { workflow: Workflow }): JSX.Element {
  const [form, setForm] = useState<Form>("submitted");
  const { metadata, spec, status } = workflow;
  // A running workflow changes often, its manifest seldom: only the whole of it is written anew then.
  const about = form === "whole"
    ? [workflow]
    : [spec, metadata, status?.storedWorkflowTemplateSpec];
  const key = useMemo(() => JSON.stringify(about), about);
  const prefix = useStore(session, (context) => context.labelPrefix);
  const value = useMemo(() => contentOf(workflow, form, prefix), [form, key, prefix]);
  const { manifest } = TEXTS;
  return (
    <div class="manifest">
      <ChoiceChips
        choices={FORMS}
        chosen={form}
        choose={setForm}
        texts={manifest}
        label={manifest.form}
      />
      <CodeView value={value} label={manifest[form]} />
    </div>
  );
}
