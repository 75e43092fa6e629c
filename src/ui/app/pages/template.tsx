/** One template: its parameters, its last runs, its manifest. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { WorkflowTemplate } from "../../../spec/manifest.ts";
import { api, refusalOf } from "../data/api.ts";
import { notify } from "../data/notices.ts";
import { usePolled } from "../data/polled.ts";
import { useRights } from "../data/rights.ts";
import { addressOf } from "../data/root.ts";
import { navigate } from "../data/router.ts";
import { session } from "../data/session.ts";
import { readTemplate, type TemplatePlace } from "../data/templates.ts";
import { useStore } from "../data/use_store.ts";
import { may, maySubmit } from "../model/rights.ts";
import { About } from "../parts/about.tsx";
import { Ago, CopyButton, Fact, Loading, LoadState } from "../parts/basics.tsx";
import { Boundary } from "../parts/boundary.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { Manifest } from "../parts/manifest.tsx";
import { EditLink } from "../parts/edit_links.tsx";
import { Rows } from "../parts/rows.tsx";
import { Runs, useRuns } from "../parts/runs.tsx";
import type { PageProps } from "../paths.ts";
import { TEXTS } from "../texts.ts";

const EVERY_MS = 10_000;

export function TemplatePage({ params }: PageProps): JSX.Element {
  const { namespace = "", name = "" } = params;
  const { value, trouble, reload } = usePolled(
    `${namespace}/${name}`,
    EVERY_MS,
    (signal) => readTemplate({ namespace, name }, signal),
  );
  return (
    <div class="page">
      <div class="headline">
        <h1 class="wide-name">{name}</h1>
        <CopyButton text={name} what={TEXTS.copy.name} />
        {(value !== undefined || trouble?.kind === "refused") && (
          <Actions template={{ namespace, name }} isReadable={value !== undefined} />
        )}
      </div>
      <LoadState trouble={trouble} isLoaded={value !== undefined} again={() => void reload()} />
      {value !== undefined && (
        <Boundary about={value.metadata.resourceVersion ?? ""}>
          <Facts template={value} namespace={namespace} />
          <Parameters template={value} />
        </Boundary>
      )}
      {value !== undefined && (
        <>
          <LastRuns template={{ namespace, name }} />
          <Boundary about={value.metadata.resourceVersion ?? ""}>
            <Manifest title={TEXTS.templates.manifest} object={value} />
          </Boundary>
        </>
      )}
    </div>
  );
}

async function removeTemplate({ namespace, name }: TemplatePlace): Promise<void> {
  const { templates } = TEXTS;
  try {
    if (namespace === "") {
      await api.call("ClusterWorkflowTemplateService_DeleteClusterWorkflowTemplate", {
        params: { name },
      });
    } else {
      await api.call("WorkflowTemplateService_DeleteWorkflowTemplate", {
        params: { namespace, name },
      });
    }
    notify(templates.removed(name));
    navigate(namespace === "" ? "/templates?scope=cluster" : "/templates");
  } catch (error) {
    notify(templates.notRemoved(name), { isError: true, details: [refusalOf(error)] });
  }
}

/** One that cannot be read can still be deleted. */
function Actions(
  { template, isReadable }: { template: TemplatePlace; isReadable: boolean },
): JSX.Element {
  const { templates } = TEXTS;
  const { namespace, name } = template;
  const resource = namespace === "" ? "clusterworkflowtemplates" : "workflowtemplates";
  const mayRemove = may(useRights(namespace, name), resource, "delete");
  const mayCreate = maySubmit(useRights(namespace));
  const [isAsked, setAsked] = useState(false);
  const query = new URLSearchParams(
    namespace === "" ? { template: name, scope: "cluster" } : { namespace, template: name },
  );
  return (
    <div class="actions" role="toolbar" aria-label={TEXTS.workflow.actions}>
      {isReadable && mayCreate && (
        <a class="button main" href={addressOf(`/submit?${query}`)}>{templates.submit}</a>
      )}
      {isReadable && (
        <EditLink
          kind={namespace === "" ? "ClusterWorkflowTemplate" : "WorkflowTemplate"}
          namespace={namespace}
          name={name}
        />
      )}
      {mayRemove && <button type="button" onClick={() => setAsked(true)}>{templates.remove}
      </button>}
      {isAsked && (
        <Confirm
          title={templates.removeAsk(name)}
          what={templates.removeWhat}
          action={templates.remove}
          onYes={() => void removeTemplate(template)}
          onClose={() => setAsked(false)}
        />
      )}
    </div>
  );
}

function Facts(
  { template, namespace }: { template: WorkflowTemplate; namespace: string },
): JSX.Element {
  const { metadata, spec } = template;
  const { facts, everywhere } = TEXTS.templates;
  return (
    <>
      <About of={metadata} />
      <dl class="facts">
        <Fact name={facts.namespace}>{namespace === "" ? everywhere : namespace}</Fact>
        <Fact name={facts.created}>
          <Ago at={metadata.creationTimestamp} isFull />
        </Fact>
        {spec?.entrypoint !== undefined && <Fact name={facts.entrypoint}>{spec.entrypoint}</Fact>}
        <Fact name={facts.steps}>{namesText(spec?.templates ?? [])}</Fact>
      </dl>
    </>
  );
}

/** Names of templates that are told; the manifest has all. */
const MOST_NAMES = 40;

function namesText(templates: readonly { name?: string }[]): string {
  const names = templates.slice(0, MOST_NAMES).map(({ name }) => name).join(", ");
  const rest = templates.length - MOST_NAMES;
  return rest > 0 ? `${names} ${TEXTS.list.moreRefused(rest)}` : names || TEXTS.none;
}

function Parameters({ template: { spec } }: { template: WorkflowTemplate }): JSX.Element {
  const { parameters: texts } = TEXTS.templates;
  const parameters = spec?.arguments?.parameters ?? [];
  return (
    <section class="card">
      <h2>{texts.title}</h2>
      {parameters.length === 0 ? <p class="faint">{texts.none}</p> : (
        <Rows
          label={texts.title}
          items={parameters}
          keyOf={({ name }) => name}
          columns={[
            { title: texts.name, show: ({ name }) => <strong>{name}</strong> },
            {
              title: texts.value,
              show: (parameter) => {
                const given = parameter.value ?? parameter.default;
                if (given !== undefined) return <code>{String(given)}</code>;
                return parameter.valueFrom === undefined
                  ? <span class="required">{texts.required}</span>
                  : <code>{JSON.stringify(parameter.valueFrom)}</code>;
              },
            },
            {
              title: texts.choices,
              show: (parameter) => (parameter.enum ?? []).map(String).join(", ") || TEXTS.none,
            },
            {
              title: texts.description,
              look: "main",
              show: ({ description }) => description ?? TEXTS.none,
            },
          ]}
        />
      )}
    </section>
  );
}

function LastRuns(
  { template: { namespace, name } }: { template: TemplatePlace },
): JSX.Element | null {
  const prefix = useStore(session, (context) => context.labelPrefix);
  const label = namespace === ""
    ? `${prefix}cluster-workflow-template=${name}`
    : `${prefix}workflow-template=${name}`;
  const { value, trouble, mayList } = useRuns(namespace, label);
  const { runs } = TEXTS.templates;
  const query = new URLSearchParams(
    namespace === "" ? { label } : { namespace, template: name },
  );
  if (!mayList) return null;
  return (
    <section class="card">
      <div class="card-head">
        <h2>{runs.title}</h2>
        {(value?.length ?? 0) > 0 && <a href={addressOf(`/?${query}`)}>{runs.all}</a>}
      </div>
      {trouble !== undefined && (
        <>
          <p>{runs.hidden}</p>
          <p class="server-words">{trouble.message}</p>
        </>
      )}
      {value === undefined && trouble === undefined && <Loading />}
      {value?.length === 0 && <p class="faint">{runs.none}</p>}
      {value !== undefined && value.length > 0 && <Runs label={runs.title} runs={value} />}
    </section>
  );
}
