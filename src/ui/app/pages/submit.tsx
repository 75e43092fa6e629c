/** Submits a workflow: from a stored template by a form of its parameters, or from a manifest. */
import type { JSX } from "preact";
import { useRights } from "../data/rights.ts";
import { setQuery } from "../data/router.ts";
import { homeNamespace, maySubmit } from "../model/rights.ts";
import { Loading } from "../parts/basics.tsx";
import type { PageProps } from "../paths.ts";
import { TEXTS } from "../texts.ts";
import { ManifestForm } from "./submit/manifest_form.tsx";
import { TemplateForm } from "./submit/template_form.tsx";

export function SubmitPage({ query }: PageProps): JSX.Element {
  const everywhere = useRights("");
  const given = query.get("namespace") ?? "";
  // Asking in a namespace before it is known to be the visitor's would be refused.
  const isChosen = given !== "" || everywhere !== undefined;
  const namespace = given || homeNamespace(everywhere);
  const from = query.get("from");
  const isTemplate = from !== "manifest";
  const rights = useRights(isChosen ? namespace : "");
  const isCluster = query.get("scope") === "cluster";
  const chosen = query.get("template") ?? "";
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
        <Sources isTemplate={isTemplate} isCluster={isCluster} />
      </div>
      {isChosen && rights !== undefined && !maySubmit(rights) && (
        <p class="notice-line">{TEXTS.rights.noSubmit(namespace)}</p>
      )}
      {!isChosen && <Loading />}
      {isChosen && (isTemplate
        ? (
          <TemplateForm
            key={`${namespace} ${isCluster}`}
            namespace={namespace}
            isCluster={isCluster}
            isAsked={from !== null || isCluster || chosen !== ""}
            chosen={chosen}
          />
        )
        : <ManifestForm namespace={namespace} />)}
    </div>
  );
}

/** From what: a stored template, one of the whole cluster, or a manifest. */
function Sources(
  { isTemplate, isCluster }: { isTemplate: boolean; isCluster: boolean },
): JSX.Element {
  const { submit } = TEXTS;
  return (
    <div class="field" role="group" aria-labelledby="from-label">
      <span id="from-label">{submit.from}</span>
      <div class="chips">
        <button
          type="button"
          class="chip"
          aria-pressed={isTemplate && !isCluster}
          onClick={() => setQuery({ from: "template", scope: undefined, template: undefined })}
        >
          {submit.template}
        </button>
        <button
          type="button"
          class="chip"
          aria-pressed={isTemplate && isCluster}
          onClick={() => setQuery({ from: undefined, scope: "cluster", template: undefined })}
        >
          {TEXTS.templates.clusterTemplate}
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
  );
}
