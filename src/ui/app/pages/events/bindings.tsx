/** Event bindings: what each selects and does, and when it did so last. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { api, refusalOf } from "../../data/api.ts";
import { type BindingRow, BINDINGS_MS, readBinding, readBindings } from "../../data/bindings.ts";
import type { BindingDeed } from "../../../../http/routes/event_answers.ts";
import type { StoredBinding } from "../../data/deliveries.ts";
import { notify } from "../../data/notices.ts";
import { usePolled } from "../../data/polled.ts";
import { useRights } from "../../data/rights.ts";
import { addressOf } from "../../data/root.ts";
import { navigate } from "../../data/router.ts";
import { shortReason } from "../../model/deliveries.ts";
import { may } from "../../model/rights.ts";
import { Ago, CopyButton, Empty, Fact, LoadState } from "../../parts/basics.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { About } from "../../parts/about.tsx";
import { Manifest } from "../../parts/manifest.tsx";
import { EditLink, NewLink } from "../../parts/edit_links.tsx";
import {
  bindingPath,
  eventPath,
  eventsPath,
  type PageProps,
  templatePath,
  withQuery,
} from "../../paths.ts";
import { TEXTS } from "../../texts.ts";
import { TextFilter } from "../workflows/filters.tsx";
import { EventTabs } from "./event_tabs.tsx";

export function BindingsPage({ query }: PageProps): JSX.Element {
  const namespace = query.get("namespace") ?? "";
  const { value: found, trouble, reload } = usePolled(
    namespace,
    BINDINGS_MS,
    (signal) => readBindings(namespace, signal),
  );
  const { none, noMatch, looked, part } = TEXTS.events.bindings;
  return (
    <div class="page">
      <div class="headline">
        <h1>{TEXTS.pages.bindings}</h1>
        <NewLink kind="WorkflowEventBinding" namespace={namespace} />
      </div>
      <EventTabs open="bindings" namespace={namespace} />
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <div class="filter-line">
          <TextFilter
            name="namespace"
            value={namespace}
            label={TEXTS.events.fields.namespace}
            isSearch
          />
        </div>
      </form>
      {found !== undefined && found.rows.length > 0 && (
        <>
          <BindingTable rows={found.rows} />
          <p class="faint">{looked(found.looked)}</p>
          {found.isPart && <p class="notice-line">{part}</p>}
        </>
      )}
      <LoadState trouble={trouble} isLoaded={found !== undefined} again={() => void reload()} />
      {trouble === undefined && found?.rows.length === 0 && namespace !== "" && (
        <Empty title={noMatch.title}>
          <p>{noMatch.next}</p>
        </Empty>
      )}
      {trouble === undefined && found?.rows.length === 0 && namespace === "" && (
        <Empty title={none.title}>
          <p>{none.next}</p>
          <pre class="code"><code>{none.command}</code></pre>
          <NewLink kind="WorkflowEventBinding" namespace="" />
        </Empty>
      )}
    </div>
  );
}

function BindingTable({ rows }: { rows: readonly BindingRow[] }): JSX.Element {
  const { heads } = TEXTS.events.bindings;
  const titles = [
    heads.name,
    heads.namespace,
    heads.selector,
    heads.does,
    heads.match,
    heads.error,
  ];
  return (
    <table class="list bindings" role="table">
      <thead role="rowgroup">
        <tr role="row">
          {titles.map((title) => <th key={title} role="columnheader" scope="col">{title}</th>)}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map(({ binding, activity }) => {
          const { name = "", namespace = "" } = binding.metadata;
          return (
            <tr role="row" key={`${namespace}/${name}`}>
              <td role="cell" class="cell-name">
                <a href={addressOf(bindingPath(namespace, name))} data-keys-row="">{name}</a>
              </td>
              <td role="cell" class="cell-namespace">{namespace}</td>
              <td role="cell" class="cell-selector">
                <code>{binding.spec.event?.selector}</code>
              </td>
              <td role="cell" class="cell-extra" data-title={heads.does}>{deedsOf(binding)}</td>
              <td role="cell" class="cell-extra" data-title={heads.match}>
                <Deed namespace={namespace} deed={activity?.lastMatch} />
              </td>
              <td role="cell" class="cell-extra" data-title={heads.error}>
                <Deed namespace={namespace} deed={activity?.lastError} />
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** What a binding does with an event that it selects. */
function deedsOf({ spec: { submit, resume, stop } }: StoredBinding): string {
  const texts = TEXTS.events.bindings;
  const deeds = [
    ...(submit === undefined ? [] : [texts.submits(submit.workflowTemplateRef?.name ?? "")]),
    ...(resume === undefined ? [] : [texts.resumes]),
    ...(stop === undefined ? [] : [texts.stops]),
  ];
  return deeds.join(", ") || texts.nothing;
}

function Deed(
  { namespace, deed }: { namespace: string; deed: BindingDeed | undefined },
): JSX.Element {
  if (deed === undefined) return <span class="faint">{TEXTS.events.bindings.never}</span>;
  return (
    <>
      <a href={addressOf(eventPath(namespace, deed.id))}>
        <Ago at={deed.receivedAt} />
      </a>
      {deed.workflow === undefined && deed.message !== undefined && (
        <p class="message" title={deed.message}>{shortReason(deed.message)}</p>
      )}
    </>
  );
}

export function BindingPage({ params }: PageProps): JSX.Element {
  const { namespace = "", name = "" } = params;
  const { value: found, trouble, reload } = usePolled(
    `${namespace}/${name}`,
    BINDINGS_MS,
    (signal) => readBinding(namespace, name, signal),
  );
  return (
    <div class="page">
      <div class="headline">
        <h1 class="wide-name">{name}</h1>
        <CopyButton text={name} what={TEXTS.copy.name} />
        {(found !== undefined || trouble?.kind === "refused") && (
          <Actions namespace={namespace} name={name} isReadable={found !== undefined} />
        )}
      </div>
      <EventTabs open="bindings" namespace={namespace} />
      <LoadState
        trouble={trouble}
        isLoaded={found !== undefined}
        again={() => void reload()}
        home={{ path: "/events/bindings", text: TEXTS.pages.bindings }}
      />
      {found !== undefined && <BindingDetails row={found} />}
    </div>
  );
}

async function removeBinding(namespace: string, name: string): Promise<void> {
  const texts = TEXTS.events.bindings;
  try {
    await api.call("EventService_DeleteWorkflowEventBinding", { params: { namespace, name } });
    notify(texts.removed(name));
    navigate("/events/bindings");
  } catch (error) {
    notify(texts.notRemoved(name), { isError: true, details: [refusalOf(error)] });
  }
}

/** One that cannot be read can still be deleted. */
function Actions(
  { namespace, name, isReadable }: { namespace: string; name: string; isReadable: boolean },
): JSX.Element {
  const texts = TEXTS.events.bindings;
  const mayRemove = may(useRights(namespace, name), "workfloweventbindings", "delete");
  const [isAsked, setAsked] = useState(false);
  return (
    <div class="actions" role="toolbar" aria-label={TEXTS.workflow.actions}>
      {isReadable && <EditLink kind="WorkflowEventBinding" namespace={namespace} name={name} />}
      {mayRemove && <button type="button" onClick={() => setAsked(true)}>{texts.remove}</button>}
      {isAsked && (
        <Confirm
          title={texts.removeAsk(name)}
          what={texts.removeWhat}
          action={texts.remove}
          onYes={() => void removeBinding(namespace, name)}
          onClose={() => setAsked(false)}
        />
      )}
    </div>
  );
}

function BindingDetails({ row: { binding, activity } }: { row: BindingRow }): JSX.Element {
  const { name = "", namespace = "" } = binding.metadata;
  const texts = TEXTS.events.bindings;
  const selector = binding.spec.event?.selector ?? "";
  const template = binding.spec.submit?.workflowTemplateRef;
  return (
    <>
      <About of={binding.metadata} />
      <dl class="facts">
        <Fact name={texts.heads.namespace}>{namespace}</Fact>
        <Fact name={texts.heads.does}>{deedsOf(binding)}</Fact>
        {template?.name !== undefined && (
          <Fact name={TEXTS.workflow.facts.template}>
            <a
              href={addressOf(
                templatePath(template.clusterScope === true ? "" : namespace, template.name),
              )}
            >
              {template.name}
            </a>
          </Fact>
        )}
        <Fact name={texts.heads.match}>
          <Deed namespace={namespace} deed={activity?.lastMatch} />
        </Fact>
        <Fact name={texts.heads.error}>
          <Deed namespace={namespace} deed={activity?.lastError} />
        </Fact>
        <Fact name={texts.facts.activity}>
          {texts.counts(activity?.matched ?? 0, activity?.failed ?? 0)}
        </Fact>
      </dl>
      <p class="buttons">
        <a
          class="button main"
          href={addressOf(withQuery("/events/playground", { namespace, binding: name }))}
        >
          {texts.try}
        </a>
        <a class="button" href={addressOf(eventsPath({ namespace, binding: name }))}>
          {texts.events}
        </a>
      </p>
      <section class="card" aria-labelledby="selector">
        <h2 id="selector">{texts.heads.selector}</h2>
        <div class="long-text">
          <CopyButton text={selector} what={texts.what} />
          <pre class="code" tabIndex={0} aria-label={texts.heads.selector}>
            <code>{selector || texts.unreadable}</code>
          </pre>
        </div>
      </section>
      <Manifest title={TEXTS.workflow.view.manifest} object={binding} />
    </>
  );
}
