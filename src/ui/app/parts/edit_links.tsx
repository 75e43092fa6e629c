/** Links to the editor of stored manifests, for those who may store them. */
import type { JSX } from "preact";
import { useRights } from "../data/rights.ts";
import { addressOf } from "../data/root.ts";
import { may, mayCreate } from "../model/rights.ts";
import { editPath, STORED_RESOURCES, type StoredKindName } from "../paths.ts";
import { TEXTS } from "../texts.ts";

/** @param namespace "" for any, and of kinds of the whole cluster */
export function NewLink(
  { kind, namespace }: { kind: StoredKindName; namespace: string },
): JSX.Element | null {
  const isOfCluster = kind === "ClusterWorkflowTemplate";
  if (!mayCreate(useRights(isOfCluster ? "" : namespace), STORED_RESOURCES[kind])) return null;
  return (
    <a class="button main" href={addressOf(editPath(kind, isOfCluster ? "" : namespace))}>
      {TEXTS.edit.new[kind]}
    </a>
  );
}

export function EditLink(
  { kind, namespace, name }: { kind: StoredKindName; namespace: string; name: string },
): JSX.Element | null {
  const rights = useRights(namespace, name);
  if (!may(rights, STORED_RESOURCES[kind], "get", "update")) return null;
  return <a class="button" href={addressOf(editPath(kind, namespace, name))}>{TEXTS.edit.do}</a>;
}
