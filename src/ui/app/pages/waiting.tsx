/** The inbox: every step that waits for a call, oldest first. */
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Workflow } from "../../../spec/manifest.ts";
import { addressOf } from "../data/root.ts";
import { setQuery } from "../data/router.ts";
import { useStore } from "../data/use_store.ts";
import { type WaitingEntry, WaitingList } from "../data/waiting_list.ts";
import { useNow } from "../data/clock.ts";
import { holds } from "../model/find.ts";
import { absoluteText, durationText, timeOf } from "../model/times.ts";
import { titleOf } from "../model/tree.ts";
import { wakesAt } from "../model/waits.ts";
import { Empty, Loading, PhaseBadge, TroubleBox } from "../parts/basics.tsx";
import { type PageProps, workflowPath } from "../paths.ts";
import { LongWords } from "../parts/long_words.tsx";
import { TEXTS } from "../texts.ts";
import { WaitingActions } from "./workflow/waiting_actions.tsx";
import { TextFilter } from "./workflows/filters.tsx";

/** Entries that are drawn; more are asked for. */
const STEP = 50;
/** Steps among which a filter looks by itself; further ones are asked for. */
const MOST_LOOKED = 10_000;
/** Inputs of an entry that are shown, and characters of each: its step shows all. */
const MOST_INPUTS = 10;
const MOST_OF_INPUT = 1_000;

export function WaitingPage({ query }: PageProps): JSX.Element {
  const namespace = query.get("namespace") ?? "";
  const template = query.get("template") ?? "";
  const text = query.get("text") ?? "";
  const list = useList(namespace);
  const entries = useStore(list.store, (context) => context.entries);
  const isLoading = useStore(list.store, (context) => context.isLoading);
  const next = useStore(list.store, (context) => context.next);
  const trouble = useStore(list.store, (context) => context.trouble);
  const [limit, setLimit] = useState(STEP);
  // The chosen one stays a choice when none of its steps waits any more.
  const templates = [...new Set([...entries.map(templateOf), template])].filter(Boolean).sort();
  const shown = entries.filter((one) =>
    (template === "" || templateOf(one) === template) &&
    (holds(one.node, text) || hasName(one.workflow, text))
  );
  const isFiltered = template + text !== "";
  // Whoever looks for one step has no use for a button after each page.
  const isLooking = isFiltered && shown.length === 0 && next !== undefined &&
    trouble === undefined && entries.length < MOST_LOOKED;
  useEffect(() => {
    if (isLooking && !isLoading) void list.more();
  }, [isLooking, isLoading]);
  const { inbox } = TEXTS;
  const showMore = () => {
    setLimit(limit + STEP);
    if (shown.length <= limit + STEP) void list.more();
  };
  return (
    <div class="page">
      <div class="headline">
        <h1>{TEXTS.pages.waiting}</h1>
        {shown.length > 0 && (
          <span class="faint" role="status">{inbox.count(shown.length, next !== undefined)}</span>
        )}
      </div>
      {shown.length > 0 && <p class="faint">{inbox.what}</p>}
      <WaitingFilters {...{ namespace, template, text, templates }} />
      {trouble !== undefined && <TroubleBox trouble={trouble} again={() => void list.load()} />}
      <ol class="inbox">
        {shown.slice(0, limit).map((entry) => <Entry key={entry.key} entry={entry} />)}
      </ol>
      {isLooking && <Looking count={entries.length} />}
      {(shown.length > limit || next !== undefined) && !isLooking && (
        <p class="more">
          <button type="button" onClick={showMore} disabled={isLoading}>{inbox.more}</button>
        </p>
      )}
      {isLoading && shown.length === 0 && !isLooking && <Loading />}
      {!isLoading && shown.length === 0 && next !== undefined && !isLooking && (
        <p class="faint" role="status">{TEXTS.list.noMatch.more}</p>
      )}
      {!isLoading && shown.length === 0 && next === undefined && trouble === undefined && (
        <None isFiltered={namespace !== "" || isFiltered} />
      )}
    </div>
  );
}

/** How far a filter has looked. */
function Looking({ count }: { count: number }): JSX.Element {
  return (
    <p class="faint">
      <span role="status">{TEXTS.inbox.looking}</span> {TEXTS.inbox.looked(count)}
    </p>
  );
}

function None({ isFiltered }: { isFiltered: boolean }): JSX.Element {
  const { title, next } = TEXTS.inbox[isFiltered ? "noMatch" : "none"];
  return (
    <Empty title={title}>
      <p>{next}</p>
    </Empty>
  );
}

interface WaitingFiltersProps {
  namespace: string;
  template: string;
  text: string;
  templates: readonly string[];
}

function WaitingFilters(
  { namespace, template, text, templates }: WaitingFiltersProps,
): JSX.Element {
  const { inbox } = TEXTS;
  return (
    <div class="filter-line">
      <TextFilter name="text" value={text} label={inbox.text} hint={inbox.textHint} isSearch />
      <label class="field">
        <span>{TEXTS.list.fields.namespace}</span>
        <input
          value={namespace}
          onChange={({ currentTarget }) => setQuery({ namespace: currentTarget.value.trim() })}
        />
      </label>
      <label class="field">
        <span>{inbox.template}</span>
        <select
          value={template}
          onChange={({ currentTarget }) => setQuery({ template: currentTarget.value })}
        >
          <option value="">{inbox.allTemplates}</option>
          {templates.map((one) => <option key={one} value={one}>{one}</option>)}
        </select>
      </label>
    </div>
  );
}

function useList(namespace: string): WaitingList {
  const list = useMemo(() => new WaitingList(namespace), [namespace]);
  useEffect(() => () => list.close(), [list]);
  return list;
}

/** What the step comes from: the stored template, else the workflow's own. */
function templateOf({ workflow, node }: WaitingEntry): string {
  const { spec } = workflow;
  return spec?.workflowTemplateRef?.name ?? node.templateRef?.name ?? node.templateName ?? "";
}

function hasName({ metadata: { name = "" } }: Workflow, text: string): boolean {
  return name.toLowerCase().includes(text.toLowerCase());
}

function cut(text: string): string {
  return text.length > MOST_OF_INPUT ? `${text.slice(0, MOST_OF_INPUT)}…` : text;
}

function Entry({ entry }: { entry: WaitingEntry }): JSX.Element {
  const { workflow, node } = entry;
  const now = useNow();
  const { name = "", namespace = "" } = workflow.metadata;
  const wakes = wakesAt(workflow, node);
  const inputs = node.inputs?.parameters ?? [];
  const since = timeOf(node.startedAt);
  const isWhole = titleOf(node) === name;
  const path = addressOf(workflowPath(namespace, name, { node: node.id }));
  return (
    <li>
      <div class="entry-head">
        <PhaseBadge look="Waiting" />
        <h2>
          <a href={path} data-keys-row="">
            <span class="wide-name">{titleOf(node)}</span>
            <span class="faint">
              {isWhole ? TEXTS.inbox.inNamespace(namespace) : TEXTS.inbox.of(name, namespace)}
            </span>
          </a>
        </h2>
        <span class="right">
          {since !== undefined && (
            <time dateTime={new Date(since).toISOString()} title={absoluteText(since)}>
              {TEXTS.inbox.since(durationText(Math.max(0, now - since)))}
            </time>
          )}
        </span>
      </div>
      {node.message && <LongWords text={node.message} look="server-words" />}
      {wakes !== undefined && (
        <p class="faint">{TEXTS.inbox.wakes(durationText(Math.max(0, wakes - now)))}</p>
      )}
      {inputs.length > 0 && (
        <dl class="values">
          {inputs.slice(0, MOST_INPUTS).map((input) => (
            <div key={input.name}>
              <dt>{input.name}</dt>
              <dd>
                <pre>{cut(String(input.value ?? ""))}</pre>
              </dd>
            </div>
          ))}
        </dl>
      )}
      {inputs.length > MOST_INPUTS && (
        <p>
          <a href={path}>{TEXTS.inbox.moreInputs(inputs.length - MOST_INPUTS)}</a>
        </p>
      )}
      <WaitingActions workflow={workflow} node={node} />
    </li>
  );
}
