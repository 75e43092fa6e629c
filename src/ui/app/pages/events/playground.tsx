/** Tries an event with a binding: what would be made of it, or the error at its place. Nothing is sent or done. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { bindingNames, BINDINGS_MS } from "../../data/bindings.ts";
import { useRights } from "../../data/rights.ts";
import { setQuery } from "../../data/router.ts";
import { usePolled } from "../../data/polled.ts";
import { mayTryManifest } from "../../model/rights.ts";
import { TroubleBox } from "../../parts/basics.tsx";
import type { PageProps } from "../../paths.ts";
import { TEXTS } from "../../texts.ts";
import { EventTabs } from "./event_tabs.tsx";
import { type Draft, readDraft, writeDraft } from "./playground_draft.ts";
import { Result, useTrial } from "./playground_result.tsx";

export function PlaygroundPage({ query }: PageProps): JSX.Element {
  const namespace = query.get("namespace") || "default";
  const names = useNames(namespace);
  const rights = useRights(namespace);
  const mayPaste = rights === undefined || mayTryManifest(rights);
  const asked = query.get("binding") ?? "";
  // A stored binding says more than an example that refers to nothing; whoever wants a manifest chooses it.
  const wantsManifest = mayPaste && query.get("from") === "manifest";
  const chosen = asked !== "" || wantsManifest ? asked : names.answer[0] ?? "";
  // Nothing to try, or nothing is known yet: a request would be refused.
  const hasManifest = mayPaste && rights !== undefined && (wantsManifest || names.isKnown);
  const isReady = chosen !== "" || hasManifest;
  const [draft, setDraft] = useState(readDraft);
  const change = (part: Partial<Draft>) => {
    const next = { ...draft, ...part };
    setDraft(next);
    writeDraft(next);
  };
  const trial = useTrial(isReady ? namespace : undefined, draft, chosen);
  const texts = TEXTS.events.playground;
  return (
    <div class="page">
      <h1>{TEXTS.pages.playground}</h1>
      <EventTabs open="playground" namespace={namespace} />
      <p>{texts.what}</p>
      {names.trouble !== undefined && <TroubleBox trouble={names.trouble} again={names.again} />}
      <div class="split even">
        <form class="form" onSubmit={(event) => event.preventDefault()}>
          <EventFields namespace={namespace} draft={draft} change={change} />
          <BindingFields
            names={names.answer}
            chosen={chosen}
            mayPaste={mayPaste}
            isShown={chosen === "" && hasManifest}
            manifest={draft.manifest}
            change={change}
          />
        </form>
        <section class="card" aria-labelledby="result" aria-live="polite">
          <h2 id="result">{texts.result}</h2>
          {isReady || mayPaste ? <Result trial={trial} /> : <p class="faint">{texts.noBindings}</p>}
        </section>
      </div>
    </div>
  );
}

function useNames(namespace: string) {
  const { value, trouble, reload } = usePolled(
    namespace,
    BINDINGS_MS,
    (signal) => bindingNames(namespace, signal),
  );
  const isKnown = value !== undefined || trouble !== undefined;
  return { answer: value ?? [], isKnown, trouble, again: () => void reload() };
}

interface FieldProps {
  draft: Draft;
  change: (part: Partial<Draft>) => void;
}

function EventFields(
  { namespace, draft, change }: FieldProps & { namespace: string },
): JSX.Element {
  const texts = TEXTS.events.playground;
  const { fields } = TEXTS.events;
  return (
    <>
      <div class="pair">
        <label class="field">
          <span>{fields.namespace}</span>
          <input
            value={namespace}
            spellcheck={false}
            data-keys-search=""
            onChange={({ currentTarget }) => setQuery({ namespace: currentTarget.value.trim() })}
          />
        </label>
        <label class="field">
          <span>{fields.discriminator}</span>
          <input
            value={draft.discriminator}
            spellcheck={false}
            onInput={({ currentTarget }) => change({ discriminator: currentTarget.value })}
          />
        </label>
      </div>
      <label class="field">
        <span>{texts.payload}</span>
        <textarea
          class="code"
          rows={9}
          spellcheck={false}
          value={draft.payload}
          onInput={({ currentTarget }) => change({ payload: currentTarget.value })}
        />
      </label>
      <label class="field">
        <span>{texts.headers}</span>
        <textarea
          class="code"
          rows={2}
          spellcheck={false}
          placeholder={texts.headersHint}
          value={draft.headers}
          onInput={({ currentTarget }) => change({ headers: currentTarget.value })}
        />
      </label>
    </>
  );
}

function BindingFields(
  { names, chosen, mayPaste, isShown, manifest, change }: {
    names: readonly string[];
    chosen: string;
    /** A manifest can be tried too. */
    mayPaste: boolean;
    /** A manifest is what is tried. */
    isShown: boolean;
    manifest: string;
    change: FieldProps["change"];
  },
): JSX.Element {
  const texts = TEXTS.events.playground;
  const known = chosen === "" || names.includes(chosen) ? names : [chosen, ...names];
  return (
    <>
      <label class="field">
        <span>{texts.binding}</span>
        <select
          value={chosen}
          onChange={({ currentTarget: { value } }) =>
            setQuery({ binding: value, from: value === "" ? "manifest" : undefined })}
        >
          {mayPaste && <option value="">{texts.paste}</option>}
          {known.map((name) => <option key={name} value={name}>{name}</option>)}
        </select>
      </label>
      {isShown && (
        <label class="field">
          <span>{texts.manifest}</span>
          <textarea
            class="code"
            rows={14}
            spellcheck={false}
            value={manifest}
            onInput={({ currentTarget }) => change({ manifest: currentTarget.value })}
          />
        </label>
      )}
    </>
  );
}
