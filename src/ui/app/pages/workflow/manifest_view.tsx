/** The manifest: as it was submitted, and with what templates and defaults added. */
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Workflow } from "../../../../spec/manifest.ts";
import { CopyButton, Loading } from "../../parts/basics.tsx";
import { TEXTS } from "../../texts.ts";

type Form = "submitted" | "run" | "whole";
const FORMS: readonly Form[] = ["submitted", "run", "whole"];

function contentOf({ metadata, spec, status }: Workflow, form: Form): unknown {
  const { name, generateName, namespace, labels, annotations } = metadata;
  const kept = { metadata: { name, generateName, namespace, labels, annotations } };
  if (form === "submitted") return { ...kept, spec };
  if (form === "run") return { ...kept, spec: status?.storedWorkflowTemplateSpec ?? spec };
  return { metadata, spec, status };
}

export function ManifestView({ workflow }: { workflow: Workflow }): JSX.Element {
  const [form, setForm] = useState<Form>("submitted");
  const [write, setWrite] = useState<((value: unknown) => string) | undefined>(undefined);
  useEffect(() => {
    // The writer of YAML is only loaded here.
    void import("yaml").then(({ stringify }) =>
      setWrite(() => (value: unknown) => stringify(value, { lineWidth: 0 }))
    );
  }, []);
  const text = useMemo(
    () => write?.(JSON.parse(JSON.stringify(contentOf(workflow, form)))),
    [workflow, form, write],
  );
  const { manifest } = TEXTS;
  return (
    <div class="manifest">
      <div class="tools">
        <div class="chips" role="group" aria-label={manifest.form}>
          {FORMS.map((one) => (
            <button
              key={one}
              type="button"
              class="chip"
              aria-pressed={one === form}
              onClick={() => setForm(one)}
            >
              {manifest[one]}
            </button>
          ))}
        </div>
        {text !== undefined && <CopyButton text={text} what={TEXTS.copy.manifest} />}
      </div>
      {text === undefined
        ? <Loading />
        : <pre class="code" tabIndex={0} aria-label={manifest[form]}><code>{text}</code></pre>}
    </div>
  );
}
