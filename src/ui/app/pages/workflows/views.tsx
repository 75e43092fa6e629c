/** Views: filters and columns under a name. */
import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { keepText, keptText } from "../../data/kept.ts";
import { addressOf } from "../../data/root.ts";
import { TEXTS } from "../../texts.ts";

const STORED = "sluice-views";

interface View {
  name: string;
  query: string;
}

function readViews(): View[] {
  try {
    const found: unknown = JSON.parse(keptText("always", STORED) ?? "[]");
    return Array.isArray(found) ? found as View[] : [];
  } catch {
    return [];
  }
}

/** Filters under a name, kept by this browser. */
export function Views({ query }: { query: string }): JSX.Element | null {
  const [views, setViews] = useState(readViews);
  const [name, setName] = useState<string | undefined>(undefined);
  const box = useRef<HTMLDivElement>(null);
  const keep = (next: View[]) => {
    setViews(next);
    keepText("always", STORED, JSON.stringify(next));
  };
  const endForm = () => {
    setName(undefined);
    // What has the focus goes.
    box.current?.focus();
  };
  const known = views.find((view) => view.query === query);
  if (views.length === 0 && query === "") return null;
  return (
    <div class="views" ref={box} tabIndex={-1}>
      {views.map((view) => (
        <a
          key={view.name}
          class="chip"
          href={addressOf(`/?${view.query}`)}
          {...(view === known && { "aria-current": "true" as const })}
        >
          {view.name}
        </a>
      ))}
      {known !== undefined && (
        <button
          type="button"
          class="quiet"
          onClick={() => keep(views.filter((view) => view !== known))}
        >
          {TEXTS.list.views.remove(known.name)}
        </button>
      )}
      {known === undefined && query !== "" && name === undefined && (
        <button
          type="button"
          class="quiet"
          onClick={() => setName("")}
        >
          {TEXTS.list.views.save}
        </button>
      )}
      {query !== "" && <a class="button quiet" href={addressOf("/")}>{TEXTS.list.noMatch.clear}</a>}
      {name !== undefined && known === undefined && (
        <NameForm
          name={name}
          setName={setName}
          save={(saved) => {
            keep([...views.filter((view) => view.name !== saved), { name: saved, query }]);
            endForm();
          }}
          cancel={endForm}
        />
      )}
    </div>
  );
}

/** It stands in the form of the filters, and a form can't hold another: so it takes its keys by itself. */
function NameForm(
  { name, setName, save, cancel }: {
    name: string;
    setName: (name: string) => void;
    save: (name: string) => void;
    cancel: () => void;
  },
): JSX.Element {
  const wanted = name.trim();
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => field.current?.focus(), []);
  return (
    <span
      class="inline-form"
      onKeyDown={({ key, target }) => {
        if (key === "Escape") cancel();
        else if (key === "Enter" && target === field.current && wanted !== "") save(wanted);
      }}
    >
      <input
        ref={field}
        aria-label={TEXTS.list.views.name}
        placeholder={TEXTS.list.views.name}
        value={name}
        maxLength={40}
        onInput={({ currentTarget }) => setName(currentTarget.value)}
      />
      <button type="button" disabled={wanted === ""} onClick={() => save(wanted)}>
        {TEXTS.list.views.keep}
      </button>
      <button type="button" class="quiet" onClick={cancel}>{TEXTS.cancel}</button>
    </span>
  );
}
