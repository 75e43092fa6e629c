/** Another version of a stored manifest. What somebody else has stored meanwhile is shown, and not overwritten unseen. */
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { keepText, keptText } from "../../data/kept.ts";
import { notify } from "../../data/notices.ts";
import { usePolled } from "../../data/polled.ts";
import { useRights } from "../../data/rights.ts";
import { navigate } from "../../data/router.ts";
import { STORED_KINDS, type StoredPlace, storeEdited } from "./kinds.ts";
import { useYaml } from "../../data/yaml.ts";
import { isSameShown, shownPart, type StoredObject } from "../../model/edited.ts";
import { may } from "../../model/rights.ts";
import { Loading, LoadState } from "../../parts/basics.tsx";
import { CodeView } from "../../parts/code_view.tsx";
import { STORED_RESOURCES, type StoredKindName } from "../../paths.ts";
import { TEXTS } from "../../texts.ts";
import { EditForm } from "./edit_form.tsx";

/** How soon another's change is seen, ms. */
const EVERY_MS = 5_000;

interface StoredManifestProps {
  kind: StoredKindName;
  place: StoredPlace;
}

/** A text, and the version that it was made from. */
interface Draft {
  from: StoredObject;
  /** Absent: nothing is changed. */
  text?: string;
}

export function StoredManifest({ kind, place }: StoredManifestProps): JSX.Element {
  const { path, read } = STORED_KINDS[kind];
  const { value, trouble, reload } = usePolled("", EVERY_MS, (signal) => read(place, signal));
  return (
    <>
      <LoadState
        trouble={trouble}
        isLoaded={value !== undefined}
        again={() => void reload()}
        home={{ path: path(place), text: TEXTS.edit.back(place.name) }}
      />
      {value !== undefined && <Writing kind={kind} place={place} latest={value} reload={reload} />}
    </>
  );
}

interface WritingProps extends StoredManifestProps {
  latest: StoredObject;
  reload: () => Promise<void>;
}

function Writing({ kind, place, latest, reload }: WritingProps): JSX.Element {
  const { path } = STORED_KINDS[kind];
  const { namespace, name } = place;
  const [draft, keep] = useDraft(`sluice-edit ${kind} ${namespace}/${name}`, latest);
  /** Counts the times that the text was taken anew. */
  const [taken, setTaken] = useState(0);
  const before = useYaml(useMemo(() => shownPart(draft.from), [draft.from]));
  const rights = useRights(namespace, name);
  const mayUpdate = may(rights, STORED_RESOURCES[kind], "get", "update");
  const mayLint = may(useRights(namespace), STORED_RESOURCES[kind], "create");
  const take = () => {
    keep({ from: latest });
    setTaken(taken + 1);
  };
  const { edit } = TEXTS;
  if (before === undefined) return <Loading />;
  return (
    <>
      {rights !== undefined && !mayUpdate && (
        <p class="notice-line">{edit.mayNotUpdate(kind, name)}</p>
      )}
      {!isSameShown(latest, draft.from) && (
        <Conflict
          latest={latest}
          take={take}
          keep={draft.text === undefined ? undefined : () => keep({ ...draft, from: latest })}
        />
      )}
      <EditForm
        key={taken}
        kind={kind}
        namespace={namespace}
        text={draft.text ?? before}
        change={(changed) =>
          keep({ from: draft.from, ...(changed !== before && { text: changed }) })}
        mayStore={mayUpdate}
        mayLint={mayLint}
        action={edit.update}
        refused={edit.notUpdated}
        store={async (object) => {
          try {
            await storeEdited(STORED_KINDS[kind], place, object, draft.from);
          } catch (error) {
            // So that the visitor sees at once what somebody else has stored.
            await reload();
            throw error;
          }
          keep({ from: draft.from });
          notify(edit.updated(name));
          navigate(path(place));
        }}
        away={path(place)}
      >
        {draft.text !== undefined && <button type="button" onClick={take}>{edit.discard}</button>}
      </EditForm>
    </>
  );
}

/** A draft stays over a reload of the page. */
function useDraft(key: string, latest: StoredObject): [Draft, (next: Draft) => void] {
  const [draft, setDraft] = useState(() => keptDraft(key) ?? { from: latest });
  const keep = (next: Draft) => {
    keepText("visit", key, next.text === undefined ? undefined : JSON.stringify(next));
    setDraft(next);
  };
  return [draft, keep];
}

function keptDraft(key: string): Draft | undefined {
  try {
    return JSON.parse(keptText("visit", key) ?? "null") ?? undefined;
  } catch {
    return undefined;
  }
}

/** What somebody else has stored. @param keep absent: nothing of one's own is there to be kept */
function Conflict(
  { latest, take, keep }: {
    latest: StoredObject;
    take: () => void;
    keep: (() => void) | undefined;
  },
): JSX.Element {
  const { conflict } = TEXTS.edit;
  const shown = useMemo(() => shownPart(latest), [latest]);
  return (
    <section class="card contended" aria-labelledby="conflict">
      <h2 id="conflict">{conflict.title}</h2>
      <p role="alert">{keep === undefined ? conflict.unchanged : conflict.what}</p>
      <CodeView value={shown} label={conflict.latest} />
      <p class="buttons">
        <button type="button" onClick={take}>
          {keep === undefined ? conflict.show : conflict.take}
        </button>
        {keep !== undefined && <button type="button" onClick={keep}>{conflict.keep}</button>}
      </p>
    </section>
  );
}
