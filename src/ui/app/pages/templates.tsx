/** Stored templates: of namespaces, and of the whole cluster. */
import type { JSX } from "preact";
import type { WorkflowTemplate } from "../../../spec/manifest.ts";
import { api } from "../data/api.ts";
import { PAGE, readRows } from "../data/pages.ts";
import { usePolled } from "../data/polled.ts";
import { useRights } from "../data/rights.ts";
import { addressOf } from "../data/root.ts";
import { setQuery } from "../data/router.ts";
import { maySomewhere } from "../model/rights.ts";
import { descriptionOf, unreadableReason } from "../model/stored.ts";
import { Ago, GivenTitle } from "../parts/basics.tsx";
import { ChoiceChips } from "../parts/choice_chips.tsx";
import { ListBody, rowsWanted } from "../parts/list_page.tsx";
import { NewLink } from "../parts/edit_links.tsx";
import { Rows } from "../parts/rows.tsx";
import { type PageProps, templatePath } from "../paths.ts";
import { TEXTS } from "../texts.ts";
import { TextFilter } from "./workflows/filters.tsx";

const EVERY_MS = 10_000;

const RESOURCES = { namespaced: "workflowtemplates", cluster: "clusterworkflowtemplates" };
type Scope = keyof typeof RESOURCES;
const SCOPES: readonly Scope[] = ["namespaced", "cluster"];

export function TemplatesPage({ query }: PageProps): JSX.Element {
  const scope: Scope = query.get("scope") === "cluster" ? "cluster" : "namespaced";
  const namespace = query.get("namespace") ?? "";
  const name = query.get("name") ?? "";
  const rows = rowsWanted(query);
  const list = usePolled(
    JSON.stringify([scope, namespace, name]),
    EVERY_MS,
    (signal) => readRows(rows, (start) => readPage(scope, { namespace, name, start, signal })),
    rows,
  );
  const { templates } = TEXTS;
  const kind = scope === "cluster" ? "ClusterWorkflowTemplate" : "WorkflowTemplate";
  return (
    <div class="page">
      <div class="headline">
        <h1>{templates.title}</h1>
        <NewLink kind={kind} namespace={namespace} />
      </div>
      <form class="filter-line" role="search" onSubmit={(event) => event.preventDefault()}>
        <TextFilter name="name" value={name} label={templates.search} isSearch />
        {scope === "namespaced" && (
          <TextFilter name="namespace" value={namespace} label={TEXTS.list.fields.namespace} />
        )}
        <ScopeFilter scope={scope} />
      </form>
      <ListBody
        list={list}
        isFiltered={name !== "" || (scope === "namespaced" && namespace !== "")}
        kind={kind}
        texts={{ ...templates, more: TEXTS.list.more }}
      >
        {(items) => <TemplateRows items={items} hasNamespaces={scope === "namespaced"} />}
      </ListBody>
    </div>
  );
}

interface PageRequest {
  namespace: string;
  name: string;
  start: string | undefined;
  signal: AbortSignal;
}

function readPage(scope: Scope, { namespace, name, start, signal }: PageRequest) {
  const query = {
    "listOptions.limit": PAGE,
    "listOptions.continue": start,
    namePattern: name || undefined,
  };
  return scope === "cluster"
    ? api.call("ClusterWorkflowTemplateService_ListClusterWorkflowTemplates", { query, signal })
    : api.call("WorkflowTemplateService_ListWorkflowTemplates", {
      params: { namespace },
      query,
      signal,
    });
}

function ScopeFilter({ scope }: { scope: Scope }): JSX.Element | null {
  const { templates } = TEXTS;
  const rights = useRights("");
  const scopes = SCOPES.filter((one) =>
    one === scope || maySomewhere(rights, RESOURCES[one], "list")
  );
  if (scopes.length === 1) return null;
  return (
    <div class="field" role="group" aria-labelledby="scope-label">
      <span id="scope-label">{templates.scope}</span>
      <ChoiceChips
        choices={scopes}
        chosen={scope}
        choose={(one) => setQuery({ scope: one === "cluster" ? one : undefined, rows: undefined })}
        texts={templates.scopes}
      />
    </div>
  );
}

function TemplateRows(
  { items, hasNamespaces }: { items: readonly WorkflowTemplate[]; hasNamespaces: boolean },
): JSX.Element {
  const { heads, ...texts } = TEXTS.templates;
  return (
    <Rows
      label={TEXTS.templates.title}
      items={items}
      keyOf={({ metadata }) => `${metadata.namespace ?? ""}/${metadata.name}`}
      columns={[
        {
          title: heads.name,
          look: "main",
          show: (template) => {
            const { namespace = "", name = "" } = template.metadata;
            const description = descriptionOf(template.metadata);
            const trouble = unreadableReason(template.metadata);
            return (
              <>
                <a href={addressOf(templatePath(namespace, name))} data-keys-row="">{name}</a>
                <GivenTitle of={template.metadata} />
                {description !== "" && <p class="faint">{description}</p>}
                {trouble !== undefined && <p class="look-Error">{texts.unreadable} {trouble}</p>}
              </>
            );
          },
        },
        ...hasNamespaces
          ? [{
            title: heads.namespace,
            show: ({ metadata }: WorkflowTemplate) => metadata.namespace,
          }]
          : [],
        {
          title: heads.parameters,
          show: ({ spec }) =>
            (spec?.arguments?.parameters ?? []).map(({ name }) => name).join(", ") ||
            <span class="faint">{TEXTS.none}</span>,
        },
        {
          title: heads.created,
          look: "tight",
          show: ({ metadata }) => <Ago at={metadata.creationTimestamp} />,
        },
      ]}
    />
  );
}
