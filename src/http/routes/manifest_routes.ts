/** The routes that every kind of stored manifest has. */
import type { Caller } from "../../auth/port.ts";
import { defined } from "../../base/defined.ts";
import type { JsonObject } from "../../base/json.ts";
import type { ServiceDeps } from "../../service/deps.ts";
import {
  createChecked,
  lintManifest,
  updateChecked,
} from "../../service/manifests/checked_writes.ts";
import { listManifests } from "../../service/manifests/reads.ts";
import type { CheckedKind, CheckedManifests } from "../../service/manifests/validation.ts";
import { deleteManifest } from "../../service/manifests/writes.ts";
import { ManifestKind } from "../../spec/manifest.ts";
import { DELETE_OPTIONS, GET_OPTIONS, LIST_OPTIONS } from "../query.ts";
import { type CreateOptions, isDryRun, kindSchema, type ManifestBodies } from "../requests.ts";
import { param, unary, type UnaryRoute } from "../route.ts";
import { listWire } from "../wire.ts";
import { deleteConditions, listRequest, ofKind } from "./shared_options.ts";

/** What the body of a write has, of whatever kind. */
interface ManifestBody {
  createOptions?: CreateOptions;
}

/** What is particular about the routes of a kind; `B` is the body of a write. */
export interface KindRoutes<K extends CheckedKind, B extends ManifestBody> {
  kind: K;
  /** Path of the collection. */
  path: string;
  service: string;
  tag: string;
  /** The kind in plain words. */
  words: string;
  bodies: ManifestBodies;
  objectOf(body: B): CheckedManifests[K] | undefined;
  get(
    deps: ServiceDeps,
    caller: Caller,
    namespace: string,
    name: string,
  ): Promise<CheckedManifests[K]>;
  wire(object: CheckedManifests[K]): JsonObject;
}

/** Create, update, lint, list, get and delete. */
export function manifestRoutes<K extends CheckedKind, B extends ManifestBody>(
  kind: KindRoutes<K, B>,
): UnaryRoute[] {
  return [
    createRoute(kind),
    updateRoute(kind),
    lintRoute(kind),
    listRoute(kind),
    getRoute(kind),
    deleteRoute(kind),
  ];
}

function createRoute<K extends CheckedKind, B extends ManifestBody>(
  { kind, path, service, tag, words, bodies, objectOf, wire }: KindRoutes<K, B>,
): UnaryRoute {
  return unary<B>({
    method: "POST",
    path,
    operation: `${service}_Create${kind}`,
    tag,
    summary: `Store a new ${words}`,
    body: bodies.create,
    answer: { type: "object", schema: kindSchema(kind) },
    run: async (call) => {
      const namespace = param(call, "namespace");
      const object = ofKind(kind, objectOf(call.body), call.warn);
      const options = { dryRun: isDryRun(call.body) };
      return wire(await createChecked(call.service, call.caller, kind, namespace, object, options));
    },
  });
}

function updateRoute<K extends CheckedKind, B extends ManifestBody>(
  { kind, path, service, tag, words, bodies, objectOf, wire }: KindRoutes<K, B>,
): UnaryRoute {
  return unary<B>({
    method: "PUT",
    path: `${path}/{name}`,
    operation: `${service}_Update${kind}`,
    tag,
    summary: `Replace ${withArticle(words)}; it must have the resourceVersion that it is based on`,
    body: bodies.update,
    answer: { type: "object", schema: kindSchema(kind) },
    run: async (call) => {
      const [namespace, name] = [param(call, "namespace"), param(call, "name")];
      const object = ofKind(kind, objectOf(call.body), call.warn);
      const options = { dryRun: isDryRun(call.body) };
      return wire(
        await updateChecked(call.service, call.caller, kind, namespace, name, object, options),
      );
    },
  });
}

function lintRoute<K extends CheckedKind, B extends ManifestBody>(
  { kind, path, service, tag, words, bodies, objectOf, wire }: KindRoutes<K, B>,
): UnaryRoute {
  return unary<B>({
    method: "POST",
    path: `${path}/lint`,
    operation: `${service}_Lint${kind}`,
    tag,
    summary: `Check ${withArticle(words)} without storing it`,
    body: bodies.lint,
    answer: { type: "object", schema: kindSchema(kind) },
    run: async (call) => {
      const namespace = param(call, "namespace");
      const object = ofKind(kind, objectOf(call.body), call.warn);
      return wire(await lintManifest(call.service, call.caller, kind, namespace, object));
    },
  });
}

function listRoute<K extends CheckedKind, B extends ManifestBody>(
  { kind, path, service, tag, words, wire }: KindRoutes<K, B>,
): UnaryRoute {
  return unary({
    method: "GET",
    path,
    operation: `${service}_List${kind}s`,
    tag,
    summary: `List ${words}s`,
    query: { ...LIST_OPTIONS, namePattern: "string" },
    answer: { type: "list", schema: kindSchema(kind) },
    run: async (call) => {
      const { namePattern } = call.query;
      const page = await listManifests<CheckedManifests[K]>(
        call.service,
        call.caller,
        ManifestKind[kind],
        { ...listRequest(call), ...defined({ namePattern: namePattern || undefined }) },
      );
      return listWire(page.items.map(wire), page);
    },
  });
}

function getRoute<K extends CheckedKind, B extends ManifestBody>(
  { kind, path, service, tag, words, get, wire }: KindRoutes<K, B>,
): UnaryRoute {
  return unary({
    method: "GET",
    path: `${path}/{name}`,
    operation: `${service}_Get${kind}`,
    tag,
    summary: `Get ${withArticle(words)}`,
    query: GET_OPTIONS,
    answer: { type: "object", schema: kindSchema(kind) },
    run: async (call) =>
      wire(await get(call.service, call.caller, param(call, "namespace"), param(call, "name"))),
  });
}

function deleteRoute<K extends CheckedKind, B extends ManifestBody>(
  { kind, path, service, tag, words }: KindRoutes<K, B>,
): UnaryRoute {
  return unary({
    method: "DELETE",
    path: `${path}/{name}`,
    operation: `${service}_Delete${kind}`,
    tag,
    summary: `Delete ${withArticle(words)}`,
    query: DELETE_OPTIONS,
    answer: { type: "empty" },
    run: async (call) => {
      await deleteManifest(
        call.service,
        call.caller,
        ManifestKind[kind],
        param(call, "namespace"),
        param(call, "name"),
        deleteConditions(call.query),
      );
      return {};
    },
  });
}

function withArticle(words: string): string {
  return `${/^[aeiou]/.test(words) ? "an" : "a"} ${words}`;
}
