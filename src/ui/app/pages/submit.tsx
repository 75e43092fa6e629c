/** Submits a workflow: from a stored template by a form of its parameters, or from a manifest. */
import type { JSX } from "preact";
import { setQuery } from "../data/router.ts";
import { session } from "../data/session.ts";
import { useStore } from "../data/use_store.ts";
import type { PageProps } from "../paths.ts";
import { TEXTS } from "../texts.ts";
import { ManifestForm } from "./submit/manifest_form.tsx";
import { TemplateForm } from "./submit/template_form.tsx";

export function SubmitPage({ query }: PageProps): JSX.Element {
  const managed = useStore(session, (context) => context.managedNamespace);
  const namespace = query.get("namespace") ?? (managed || "default");
  const isTemplate = query.get("from") !== "manifest";
  const { submit } = TEXTS;
  return (
    <div class="page middle">
      <h1>{submit.button}</h1>
      <div class="filter-line">
        <label class="field">
          <span>{submit.namespace}</span>
          <input
            value={namespace}
            onChange={({ currentTarget }) => setQuery({ namespace: currentTarget.value.trim() })}
          />
        </label>
        <div class="field" role="group" aria-labelledby="from-label">
          <span id="from-label">{submit.from}</span>
          <div class="chips">
            <button
              type="button"
              class="chip"
              aria-pressed={isTemplate}
              onClick={() => setQuery({ from: undefined })}
            >
              {submit.template}
            </button>
            <button
              type="button"
              class="chip"
              aria-pressed={!isTemplate}
              onClick={() => setQuery({ from: "manifest" })}
            >
              {submit.manifest}
            </button>
          </div>
        </div>
      </div>
      {isTemplate
        ? (
          <TemplateForm
            key={namespace}
            namespace={namespace}
            chosen={query.get("template") ?? ""}
          />
        )
        : <ManifestForm namespace={namespace} />}
    </div>
  );
}
