/**
 * A Kubernetes API server in this process for objects of any kind, for machines without a cluster: versions, optimistic
 * locking, lists in pages, watches from a version, merge and JSON patches, preconditions, and faults on demand. It
 * answers like a real one: the same tests run on both.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { once } from "node:events";
import { isJsonObject, type Json, type JsonObject } from "../../src/base/json.ts";
import { matchesLabels, parseLabelSelector } from "../../src/expr/selectors/label_selector.ts";
import { KubeClient } from "../../src/kubernetes/kube_client.ts";

interface Meta extends JsonObject {
  name: string;
  namespace?: string;
  uid: string;
  resourceVersion: string;
}
type KubeObject = JsonObject & { metadata: Meta };

interface Place {
  /** `group/version/plural` → the kind of the objects. */
  type: string;
  namespace: string | undefined;
  name: string | undefined;
}

interface Event {
  version: number;
  type: "ADDED" | "MODIFIED" | "DELETED";
  place: Place;
  object: KubeObject;
}

export interface KubeApiServer {
  url: string;
  /** Breaks all connections, including watches. */
  cut(): void;
  /** Forgets old versions: older watches and pages get the error that they are gone. */
  compact(): void;
  /** Answers the next calls that aren't watches with 429. */
  refuse(calls: number, retryAfterSeconds?: number): void;
  /** Carries out the next calls that change something, and breaks their connections without an answer. */
  lose(calls: number): void;
  /** Answers calls of paths that end like this with 403. */
  forbid(ends: readonly string[]): void;
  /** Number of calls so far that changed something. */
  writes(): number;
  close(): Promise<void>;
}

class Refusal extends Error {
  readonly status: number;
  readonly reason: string;
  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

const NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;

/** The discovery document of the kinds. */
const DISCOVERY: Record<string, JsonObject> = {
  "/api/v1": {
    resources: [{
      name: "configmaps",
      singularName: "configmap",
      kind: "ConfigMap",
      namespaced: true,
      shortNames: ["cm"],
    }],
  },
  "/apis": { groups: [] },
};

/** Starts a server on a free port. */
export async function startKubeApiServer(): Promise<KubeApiServer> {
  const objects = new Map<string, KubeObject>();
  const namespaces = new Set(["default"]);
  const watchers = new Set<(event: Event) => void>();
  let history: Event[] = [];
  let version = 1_000;
  let compacted = 0;
  let refusals = 0;
  let retryAfter = 0;
  let losses = 0;
  let forbidden: readonly string[] = [];
  let writes = 0;

  const keyOf = ({ type, namespace = "", name = "" }: Place) => `${type}/${namespace}/${name}`;

  function publish(type: Event["type"], place: Place, object: KubeObject): KubeObject {
    version++;
    writes++;
    object.metadata.resourceVersion = String(version);
    const event = { version, type, place, object: structuredClone(object) };
    history.push(event);
    for (const hear of watchers) hear(event);
    return object;
  }

  function existing(place: Place): KubeObject {
    const found = objects.get(keyOf(place));
    if (found !== undefined) return found;
    const plural = place.type.split("/").at(-1) ?? "";
    throw new Refusal(404, "NotFound", `${plural} "${place.name ?? ""}" not found`);
  }

  function list({ type, namespace }: Place, query: URLSearchParams): JsonObject {
    const all = [...objects].filter(([key, object]) =>
      key.startsWith(`${type}/`) && isSelected(object, query) &&
      (namespace === undefined || object.metadata.namespace === namespace)
    ).map(([, object]) => object);
    const [from = "0", at = String(version)] = (query.get("continue") ?? "").split("@")
      .filter((part) => part !== "");
    if (Number(at) < compacted) throw new Refusal(410, "Expired", "the continue token has expired");
    const limit = Number(query.get("limit") ?? 0) || all.length;
    const items = all.slice(Number(from), Number(from) + limit);
    const next = Number(from) + items.length;
    return {
      kind: "List",
      metadata: {
        resourceVersion: at,
        ...(next < all.length && { continue: `${next}@${at}` }),
      },
      items,
    };
  }

  function watch(place: Place, query: URLSearchParams, response: ServerResponse): void {
    const send = (type: string, object: JsonObject) =>
      void response.write(`${JSON.stringify({ type, object })}\n`);
    response.writeHead(200, { "content-type": "application/json" });
    const from = Number(query.get("resourceVersion") ?? 0);
    if (from < compacted) {
      send("ERROR", { kind: "Status", code: 410, reason: "Expired", message: "too old" });
      return void response.end();
    }
    const hear = ({ version, type, place: at, object }: Event) => {
      if (version <= from || at.type !== place.type || !isSelected(object, query)) return;
      if (place.namespace === undefined || at.namespace === place.namespace) send(type, object);
    };
    for (const event of history) hear(event);
    watchers.add(hear);
    response.on("close", () => watchers.delete(hear));
  }

  function create(place: Place, given: JsonObject): KubeObject {
    const { namespace, type } = place;
    const metadata = isJsonObject(given["metadata"]) ? given["metadata"] : {};
    const { generateName } = metadata;
    const name = String(metadata["name"] ?? `${String(generateName)}${randomUUID().slice(0, 5)}`);
    if (!NAME.test(name)) {
      throw new Refusal(422, "Invalid", `"${name}" is invalid: metadata.name: Invalid value`);
    }
    if (type === "v1/namespaces") namespaces.add(name);
    else if (namespace !== undefined && !namespaces.has(namespace)) {
      throw new Refusal(404, "NotFound", `namespaces "${namespace}" not found`);
    }
    const at = { ...place, name };
    if (objects.has(keyOf(at))) throw new Refusal(409, "AlreadyExists", `"${name}" already exists`);
    const object = {
      ...given,
      metadata: {
        ...metadata,
        name,
        ...(namespace !== undefined && { namespace }),
        uid: randomUUID(),
        resourceVersion: "",
        generation: 1,
        creationTimestamp: new Date(Date.now()).toISOString(),
      },
    } as KubeObject;
    objects.set(keyOf(at), object);
    return publish("ADDED", at, object);
  }

  function patch(place: Place, body: Json, contentType: string): KubeObject {
    const before = existing(place);
    const after = contentType.includes("json-patch")
      ? jsonPatched(before, body as unknown as Operation[])
      : mergePatched(before, body) as KubeObject;
    if (after.metadata.resourceVersion !== before.metadata.resourceVersion) {
      throw new Refusal(409, "Conflict", "the object has been modified");
    }
    if (JSON.stringify(after) === JSON.stringify(before)) return before;
    objects.set(keyOf(place), after);
    return publish("MODIFIED", place, after);
  }

  function replace(place: Place, given: JsonObject): KubeObject {
    const before = existing(place);
    const metadata = isJsonObject(given["metadata"]) ? given["metadata"] : {};
    const { uid, resourceVersion } = before.metadata;
    // As real ones do for many kinds.
    if (metadata["resourceVersion"] === undefined) {
      const reason = "metadata.resourceVersion: must be specified for an update";
      throw new Refusal(422, "Invalid", `"${before.metadata.name}" is invalid: ${reason}`);
    }
    if (metadata["resourceVersion"] !== resourceVersion) {
      throw new Refusal(409, "Conflict", "the object has been modified");
    }
    const after = { ...given, metadata: { ...before.metadata, ...metadata, uid } } as KubeObject;
    objects.set(keyOf(place), after);
    return publish("MODIFIED", place, after);
  }

  function remove(place: Place, body: Json): JsonObject {
    const before = existing(place);
    const wanted = isJsonObject(body) && isJsonObject(body["preconditions"])
      ? body["preconditions"]
      : {};
    for (const [key, value] of Object.entries(wanted)) {
      if (before.metadata[key] !== value) throw new Refusal(409, "Conflict", `${key} differs`);
    }
    objects.delete(keyOf(place));
    publish("DELETED", place, before);
    return { kind: "Status", status: "Success" };
  }

  /** Removes the objects that have all the labels. */
  function removeAll(place: Place, selector: string): JsonObject {
    const labels = selector.split(",").map((term) => term.split("="));
    for (const object of list(place, new URLSearchParams())["items"] as KubeObject[]) {
      const has = isJsonObject(object.metadata["labels"]) ? object.metadata["labels"] : {};
      const { name } = object.metadata;
      if (labels.every(([key = "", value]) => has[key] === value)) remove({ ...place, name }, null);
    }
    return { kind: "Status", status: "Success" };
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://localhost");
    const place = placeOf(url.pathname);
    const text = await readText(request);
    const isWatch = url.searchParams.get("watch") === "true";
    if (isWatch) return watch(place, url.searchParams, response);
    if (refusals > 0) {
      refusals--;
      response.setHeader("retry-after", String(retryAfter));
      throw new Refusal(429, "TooManyRequests", "too many requests");
    }
    if (forbidden.some((end) => url.pathname.endsWith(end))) {
      throw new Refusal(403, "Forbidden", `${url.pathname} is forbidden`);
    }
    const body = text === "" ? null : JSON.parse(text) as Json;
    const { method = "GET" } = request;
    const result = method === "POST"
      ? create(place, body as JsonObject)
      : method === "PUT"
      ? replace(place, body as JsonObject)
      : method === "PATCH"
      ? patch(place, body, request.headers["content-type"] ?? "")
      : method === "DELETE"
      ? place.name === undefined
        ? removeAll(place, url.searchParams.get("labelSelector") ?? "")
        : remove(place, body)
      : DISCOVERY[url.pathname] !== undefined
      ? DISCOVERY[url.pathname]
      : place.name === undefined
      ? list(place, url.searchParams)
      : existing(place);
    if (method !== "GET" && losses > 0) {
      losses--;
      return void request.socket.destroy();
    }
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(result));
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      const { status, reason, message } = error instanceof Refusal
        ? error
        : new Refusal(500, "InternalError", String(error));
      response.writeHead(status, { "content-type": "application/json" });
      response.end(JSON.stringify({ kind: "Status", code: status, reason, message }));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    url: `http://127.0.0.1:${address !== null && typeof address === "object" ? address.port : 0}`,
    cut: () => server.closeAllConnections(),
    compact() {
      history = [];
      compacted = version;
      server.closeAllConnections();
    },
    refuse(calls, retryAfterSeconds = 0) {
      refusals = calls;
      retryAfter = retryAfterSeconds;
    },
    lose(calls) {
      losses = calls;
    },
    forbid(ends) {
      forbidden = ends;
    },
    writes: () => writes,
    async close() {
      server.close();
      server.closeAllConnections();
      if (server.listening) await once(server, "close");
    },
  };
}

function placeOf(path: string): Place {
  const parts = path.split("/").filter((part) => part !== "").map(decodeURIComponent);
  const head = parts[0] === "api" ? parts.slice(1, 2) : parts.slice(1, 3);
  const rest = parts.slice(parts[0] === "api" ? 2 : 3);
  const isNamespaced = rest[0] === "namespaces" && rest.length > 2;
  const namespace = isNamespaced ? rest[1] : undefined;
  const [plural = "", name] = isNamespaced ? rest.slice(2) : rest;
  return { type: [...head, plural].join("/"), namespace, name };
}

/** Field selectors with terms `a.b=c`; no others are supported here. */
function isSelected(object: JsonObject, query: URLSearchParams): boolean {
  const { labels } = isJsonObject(object["metadata"]) ? object["metadata"] : {};
  const own = isJsonObject(labels) ? labels as Record<string, string> : {};
  if (!matchesLabels(parseLabelSelector(query.get("labelSelector") ?? ""), own)) return false;
  const terms = (query.get("fieldSelector") ?? "").split(",").filter((term) => term !== "");
  return terms.every((term) => {
    const [path = "", wanted] = term.split("=");
    let value: Json | undefined = object;
    for (const key of path.split(".")) value = isJsonObject(value) ? value[key] : undefined;
    return value === wanted;
  });
}

async function readText(request: IncomingMessage): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of request as AsyncIterable<Uint8Array>) parts.push(part);
  return Buffer.concat(parts).toString("utf8");
}

interface Operation {
  op: "add" | "replace" | "remove";
  path: string;
  value?: Json;
}

function jsonPatched(before: KubeObject, operations: readonly Operation[]): KubeObject {
  const after = structuredClone(before);
  for (const { op, path, value } of operations) {
    const keys = path.split("/").slice(1)
      .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
    const last = keys.pop() ?? "";
    let holder: Json | undefined = after;
    for (const key of keys) holder = isJsonObject(holder) ? holder[key] : undefined;
    if (!isJsonObject(holder) || (op !== "add" && holder[last] === undefined)) {
      throw new Refusal(422, "Invalid", `the server rejected our request: no ${path}`);
    }
    if (op === "remove") delete holder[last];
    else holder[last] = value ?? null;
  }
  return after;
}

function mergePatched(before: Json | undefined, patch: Json): Json {
  if (!isJsonObject(patch)) return patch;
  const after: JsonObject = isJsonObject(before) ? { ...before } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete after[key];
    else after[key] = mergePatched(after[key], value);
  }
  return after;
}

/** A client of an API server of the tests. */
export function clientOf({ url }: Pick<KubeApiServer, "url">): KubeClient {
  return new KubeClient({
    server: url,
    insecureSkipVerify: false,
    token: () => Promise.resolve(undefined),
  });
}
