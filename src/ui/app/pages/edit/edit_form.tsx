/** The editor of a manifest with what stores it, and why it was not stored. */
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { refusalOf } from "../../data/api.ts";
import { addressOf } from "../../data/root.ts";
import { STORED_KINDS } from "./kinds.ts";
import { readYaml } from "../../data/yaml.ts";
import type { StoredObject } from "../../model/edited.ts";
import { ManifestField, useManifestCheck, Verdict } from "../../parts/manifest_field.tsx";
import type { StoredKindName } from "../../paths.ts";
import { TEXTS } from "../../texts.ts";

interface EditFormProps {
  kind: StoredKindName;
  namespace: string;
  text: string;
  change: (text: string) => void;
  mayStore: boolean;
  /** Whoever may not create manifests may not have them checked, only store them. */
  mayLint: boolean;
  /** The words of the button that stores it. */
  action: string;
  /** What is said when it is not stored. */
  refused: string;
  store: (object: StoredObject) => Promise<void>;
  /** Where the visitor gets without storing anything, from the root. */
  away: string;
  /** More buttons. */
  children?: ComponentChildren;
}

export function EditForm(
  { kind, namespace, text, change, mayStore, mayLint, store, ...props }: EditFormProps,
): JSX.Element {
  const [refusal, setRefusal] = useState<string | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  const { problems, check } = useManifestCheck(
    text,
    kind,
    async (object) => mayLint && await STORED_KINDS[kind].lint(namespace, object),
  );
  const attempt = async () => {
    setBusy(true);
    setRefusal(undefined);
    try {
      const found = problems ?? await check(text);
      if (found.length === 0) await store(await readYaml<StoredObject>(text));
    } catch (error) {
      setRefusal(refusalOf(error));
    }
    setBusy(false);
  };
  const { edit } = TEXTS;
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        void attempt();
      }}
    >
      <ManifestField schema={kind} text={text} change={change} check={check} />
      <Verdict
        text={text}
        problems={problems}
        {...(!mayLint && { valid: edit.unchecked })}
      />
      {refusal !== undefined && (
        <div role="alert">
          <p>{props.refused}</p>
          <p class="server-words">{refusal}</p>
        </div>
      )}
      <p class="buttons">
        {mayStore && (
          <button
            type="submit"
            class="main"
            disabled={isBusy || (problems !== undefined && problems.length > 0)}
          >
            {props.action}
          </button>
        )}
        {props.children}
        <a class="button" href={addressOf(props.away)}>{TEXTS.cancel}</a>
      </p>
    </form>
  );
}
