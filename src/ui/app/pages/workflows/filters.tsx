/** What the list shows: all of it stands in the address, so a view can be sent and kept. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { setQuery } from "../../data/router.ts";
import { choicesAfter, PHASE_CHOICES, type PhaseChoice, wordOf } from "../../model/phases.ts";
import { type Filters, SINCE_CHOICES } from "../../model/rows.ts";
import { LookIcon } from "../../parts/icons.tsx";
import { TEXTS } from "../../texts.ts";
import { Views } from "./views.tsx";

/** The list follows what is typed after this pause, ms. */
const PAUSE_MS = 250;

export function FilterBar(
  { filters, columns, query }: { filters: Filters; columns: string; query: string },
): JSX.Element {
  const { fields } = TEXTS.list;
  const isMore = [filters.labels, filters.template, filters.parameter, columns].some(Boolean);
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <div class="filter-line">
        <TextFilter name="name" value={filters.name} label={fields.name} isSearch />
        <TextFilter name="namespace" value={filters.namespace} label={fields.namespace} />
        <SinceFilter label={fields.since} since={filters.since} />
        <PhaseFilter choices={PHASE_CHOICES} phases={filters.phases} />
      </div>
      <details class="more-filters" open={isMore}>
        <summary>{TEXTS.list.moreFilters}</summary>
        <div class="filter-line">
          <TextFilter
            name="label"
            value={filters.labels}
            label={fields.labels}
            hint={fields.labelsHint}
          />
          <TextFilter name="template" value={filters.template} label={fields.template} />
          <TextFilter
            name="parameter"
            value={filters.parameter}
            label={fields.parameter}
            hint={fields.parameterHint}
          />
          <TextFilter
            name="columns"
            value={columns}
            label={fields.columns}
            hint={fields.columnsHint}
          />
        </div>
      </details>
      <Views query={query} />
    </form>
  );
}

/** A field that sets a parameter of the query while somebody types. */
export function TextFilter(
  { name, value, label, hint, isSearch = false, clears = {} }: {
    name: string;
    value: string;
    label: string;
    hint?: string;
    isSearch?: boolean;
    /** Parameters that make no sense with another value. */
    clears?: Record<string, undefined>;
  },
): JSX.Element {
  const [text, setText] = useState(value);
  /** What the address has because of this field. When it comes back, somebody may have typed on. */
  const sent = useRef(value);
  useEffect(() => {
    if (value === sent.current) return;
    sent.current = value;
    setText(value);
  }, [value]);
  useEffect(() => {
    if (text.trim() === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = text.trim();
      setQuery({ ...clears, [name]: sent.current }, { isReplacing: true });
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <label class="field">
      <span>{label}</span>
      <input
        value={text}
        placeholder={hint}
        spellcheck={false}
        autocomplete="off"
        {...(isSearch && { "data-keys-search": "" })}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
    </label>
  );
}

/** How far back the list goes. */
export function SinceFilter({ label, since }: { label: string; since: string }): JSX.Element {
  const { list } = TEXTS;
  return (
    <label class="field">
      <span>{label}</span>
      <select
        value={since}
        onChange={({ currentTarget }) => setQuery({ since: currentTarget.value })}
      >
        <option value="">{list.fields.anyTime}</option>
        {SINCE_CHOICES.map((one) => <option key={one} value={one}>{list.since[one] ?? one}
        </option>)}
      </select>
    </label>
  );
}

/** Which phases the list shows. */
export function PhaseFilter<P extends PhaseChoice>(
  { choices, phases }: { choices: readonly P[]; phases: readonly P[] },
): JSX.Element {
  const toggle = (phase: P) => setQuery({ phase: choicesAfter(choices, phases, phase).join(",") });
  return (
    <div class="field" role="group" aria-labelledby="phases-label">
      <span id="phases-label">{TEXTS.list.fields.phases}</span>
      <div class="chips">
        {choices.map((phase) => (
          <button
            key={phase}
            type="button"
            class={`chip look-${phase}`}
            aria-pressed={phases.includes(phase)}
            title={TEXTS.list.phaseHints[phase]}
            onClick={() => toggle(phase)}
          >
            <LookIcon look={phase} />
            {wordOf(phase)}
          </button>
        ))}
      </div>
    </div>
  );
}
