/** A new manifest, which begins as an example. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { keepText, keptText } from "../../data/kept.ts";
import { notify } from "../../data/notices.ts";
import { useRights } from "../../data/rights.ts";
import { navigate } from "../../data/router.ts";
import { STORED_KINDS } from "./kinds.ts";
import type { StoredObject } from "../../model/edited.ts";
import { may } from "../../model/rights.ts";
import { STORED_LISTS, STORED_RESOURCES, type StoredKindName } from "../../paths.ts";
import { TEXTS } from "../../texts.ts";
import { draftName } from "./draft_name.ts";
import { EditForm } from "./edit_form.tsx";
import { EXAMPLES } from "./examples.ts";

export function NewManifest(
  { kind, namespace, event }: { kind: StoredKindName; namespace: string; event: string },
): JSX.Element {
  const { create, path } = STORED_KINDS[kind];
  const rights = useRights(namespace);
  const mayCreate = may(rights, STORED_RESOURCES[kind], "create");
  // What was written stays over a reload of the page.
  const stored = draftName(kind, event);
  const [text, setText] = useState(keptText("visit", stored) ?? EXAMPLES[kind]);
  /** Counts the times that the text was taken anew. */
  const [taken, setTaken] = useState(0);
  const keep = (changed: string | undefined) => {
    keepText("visit", stored, changed);
    setText(changed ?? EXAMPLES[kind]);
  };
  const { edit } = TEXTS;
  return (
    <>
      {rights !== undefined && !mayCreate && (
        <p class="notice-line">{edit.mayNotCreate(kind, namespace)}</p>
      )}
      <EditForm
        key={taken}
        kind={kind}
        namespace={namespace}
        text={text}
        change={keep}
        mayStore={mayCreate}
        mayLint={mayCreate}
        action={edit.create}
        refused={edit.notCreated}
        store={async (object) => {
          const { metadata: { name = "" } } = await create(namespace, object as StoredObject);
          keepText("visit", stored, undefined);
          notify(edit.created(name));
          navigate(path({ namespace, name }));
        }}
        away={STORED_LISTS[kind]}
      >
        {text !== EXAMPLES[kind] && (
          <button
            type="button"
            onClick={() => {
              keep(undefined);
              setTaken(taken + 1);
            }}
          >
            {edit.example}
          </button>
        )}
      </EditForm>
    </>
  );
}
