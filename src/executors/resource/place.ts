/** Pure: where objects of a kind are kept in a cluster, as its API server tells. */
import { KubeError } from "../../kubernetes/kube_client.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";

/** Objects of one kind. */
export interface Collection {
  /** `/api/v1`, `/apis/GROUP/VERSION`. */
  root: string;
  plural: string;
  isNamespaced: boolean;
}

/** The address of an object. */
export interface Place {
  /** Path of its collection. */
  path: string;
  name: string;
}

/** What the API server answers at a path. */
export type Discover = (path: string) => Promise<JsonObject>;

/** Path of the collection; the namespace matters for kinds that have one. */
export function collectionPath({ root, plural, isNamespaced }: Collection, namespace: string) {
  return isNamespaced
    ? `${root}/namespaces/${pathPart(namespace, "namespace")}/${plural}`
    : `${root}/${plural}`;
}

/** Path of one object. @throws {Error} when it has no name, or one that no object can have */
export function objectPath({ path, name }: Place): string {
  return `${path}/${pathPart(name, "name")}`;
}

/** A name as a part of a path. One that leads elsewhere would stand for other objects. */
function pathPart(text: string, what: "name" | "namespace"): string {
  if (text === "") throw new Error(`resource.manifest has no metadata.${what}`);
  if (text === "." || text === ".." || /[/%]/.test(text)) {
    throw new Error(`"${text}" can't be the ${what} of an object`);
  }
  return encodeURIComponent(text);
}

/** The collection of a manifest's kind. @throws {Error} when the cluster has none */
export async function collectionOfKind(
  discover: Discover,
  apiVersion: string,
  kind: string,
): Promise<Collection> {
  const root = rootOf(apiVersion);
  const resources = await discover(root).catch((error) => {
    // The cluster does not know the group or its version.
    if (error instanceof KubeError && error.status === 404) return {};
    throw error;
  });
  const found = find(resources, root, (resource) => resource["kind"] === kind);
  if (found === undefined) throw new Error(`the cluster has no ${kind} in ${apiVersion}`);
  return found;
}

/**
 * The collection that a word means to `kubectl`: `pod`, `pods`, `po`, `deployments.apps`, `deployment.v1.apps`.
 *
 * @throws {Error} when the cluster has none
 */
export async function collectionOfWord(discover: Discover, word: string): Promise<Collection> {
  const [, name = "", version, group] = /^([^.]+)(?:\.(v\d\w*))?(?:\.(.+))?$/.exec(word) ?? [];
  const isMeant = ({ name: plural, singularName, kind, shortNames }: JsonObject) =>
    [plural, singularName, kind, ...(Array.isArray(shortNames) ? shortNames : [])]
      .some((one) => typeof one === "string" && one.toLowerCase() === name.toLowerCase());
  for await (const apiVersion of versions(discover, group, version)) {
    const root = rootOf(apiVersion);
    const found = find(await discover(root), root, isMeant);
    if (found !== undefined) return found;
  }
  throw new Error(`the cluster has no resource type "${word}"`);
}

/** API versions to look in: the core first, then each group in the version that it prefers. */
async function* versions(
  discover: Discover,
  group: string | undefined,
  version: string | undefined,
): AsyncGenerator<string> {
  if (group === undefined) yield version ?? "v1";
  if (group === undefined && version !== undefined) return;
  if (group !== undefined && version !== undefined) return yield `${group}/${version}`;
  const { groups } = await discover("/apis");
  for (const one of Array.isArray(groups) ? groups : []) {
    if (!isJsonObject(one) || (group !== undefined && one["name"] !== group)) continue;
    const { preferredVersion } = one;
    if (isJsonObject(preferredVersion)) yield String(preferredVersion["groupVersion"]);
  }
}

function rootOf(apiVersion: string): string {
  return apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
}

function find(
  { resources }: JsonObject,
  root: string,
  isMeant: (resource: JsonObject) => boolean,
): Collection | undefined {
  const found = (Array.isArray(resources) ? resources : []).find((one) =>
    isJsonObject(one) && !String(one["name"]).includes("/") && isMeant(one)
  );
  if (!isJsonObject(found)) return undefined;
  return { root, plural: String(found["name"]), isNamespaced: found["namespaced"] === true };
}
