/** Writes a manifest that is stored: a new one, or another version of one. */
import type { JSX } from "preact";
import { useRights } from "../data/rights.ts";
import { setQuery } from "../data/router.ts";
import { STORED_KINDS } from "./edit/kinds.ts";
import { homeNamespace } from "../model/rights.ts";
import { Empty, Loading } from "../parts/basics.tsx";
import { type PageProps, STORED_KIND_NAMES } from "../paths.ts";
import { TEXTS } from "../texts.ts";
import { NewManifest } from "./edit/new_manifest.tsx";
import { StoredManifest } from "./edit/stored_manifest.tsx";

export function EditPage({ query }: PageProps): JSX.Element {
  const asked = query.get("kind");
  const kind = STORED_KIND_NAMES.find((one) => one === asked);
  const everywhere = useRights("");
  const given = query.get("namespace") ?? "";
  const name = query.get("name") ?? "";
  const { edit } = TEXTS;
  if (kind === undefined) {
    return (
      <div class="page">
        <Empty title={TEXTS.pages.notFound} />
      </div>
    );
  }
  const { isOfCluster } = STORED_KINDS[kind];
  if (name !== "") {
    const place = { namespace: isOfCluster ? "" : given, name };
    return (
      <div class="page middle">
        <h1 class="wide-name">{edit.title(kind, name)}</h1>
        <StoredManifest key={`${kind}/${given}/${name}`} kind={kind} place={place} />
      </div>
    );
  }
  // Asking in a namespace before it is known to be the visitor's would be refused.
  const isChosen = isOfCluster || given !== "" || everywhere !== undefined;
  const namespace = isOfCluster ? "" : given || homeNamespace(everywhere);
  return (
    <div class="page middle">
      <h1>{edit.new[kind]}</h1>
      {!isOfCluster && (
        <label class="field narrow">
          <span>{TEXTS.submit.namespace}</span>
          <input
            value={namespace}
            onChange={({ currentTarget }) => setQuery({ namespace: currentTarget.value.trim() })}
          />
        </label>
      )}
      {isChosen
        ? (
          <NewManifest
            key={`${kind} ${namespace}`}
            kind={kind}
            namespace={namespace}
            event={query.get("event") ?? ""}
          />
        )
        : <Loading />}
    </div>
  );
}
