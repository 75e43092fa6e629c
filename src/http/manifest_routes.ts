/** Routes of stored manifests: templates, cluster templates, cron workflows, event bindings. */
import type { JsonObject } from "../base/json.ts";
import { createBinding, lintBinding, updateBinding } from "../service/bindings.ts";
import {
  createCronWorkflow,
  lintCronWorkflow,
  suspendCronWorkflow,
  updateCronWorkflow,
} from "../service/cron_workflows.ts";
import { deleteManifest, getManifest, listManifests } from "../service/manifests.ts";
import {
  createTemplate,
  getTemplate,
  lintTemplate,
  type TemplateKind,
  updateTemplate,
} from "../service/templates.ts";
import {
  type CronWorkflow,
  ManifestKind,
  type WorkflowEventBinding,
  type WorkflowTemplate,
} from "../spec/manifest.ts";
import type { StructSchema } from "../spec/schema.ts";
import { DELETE_OPTIONS, GET_OPTIONS, LIST_OPTIONS } from "./query.ts";
import {
  BINDING_WRITE,
  type BindingBody,
  CLUSTER_TEMPLATE_WRITE,
  CRON_SWITCH,
  CRON_WRITE,
  type CronBody,
  kindSchema,
  TEMPLATE_WRITE,
  type TemplateBody,
} from "./requests.ts";
import { type Call, param, type Route, unary, type UnaryRoute } from "./route.ts";
import { deleteConditions, listRequest } from "./shared_options.ts";
import { cronWire, listWire, manifestWire } from "./wire.ts";

type StoredKind = TemplateKind | "CronWorkflow" | "WorkflowEventBinding";

/** What the routes of one kind have in common. */
interface KindRoutes {
  kind: StoredKind;
  /** Path of the collection. */
  path: string;
  service: string;
  tag: string;
  /** The kind in plain words. */
  words: string;
  write: StructSchema;
  // deno-lint-ignore no-explicit-any -- each kind's own type
  wire: (object: any) => JsonObject;
}

const TEMPLATES: KindRoutes = {
  kind: "WorkflowTemplate",
  path: "/api/v1/workflow-templates/{namespace}",
  service: "WorkflowTemplateService",
  tag: "workflow templates",
  words: "workflow template",
  write: TEMPLATE_WRITE,
  wire: manifestWire,
};
const CLUSTER_TEMPLATES: KindRoutes = {
  kind: "ClusterWorkflowTemplate",
  path: "/api/v1/cluster-workflow-templates",
  service: "ClusterWorkflowTemplateService",
  tag: "cluster workflow templates",
  words: "cluster workflow template",
  write: CLUSTER_TEMPLATE_WRITE,
  wire: manifestWire,
};
const CRON_WORKFLOWS: KindRoutes = {
  kind: "CronWorkflow",
  path: "/api/v1/cron-workflows/{namespace}",
  service: "CronWorkflowService",
  tag: "cron workflows",
  words: "cron workflow",
  write: CRON_WRITE,
  wire: cronWire,
};
const BINDINGS: KindRoutes = {
  kind: "WorkflowEventBinding",
  path: "/api/v1/workflow-event-bindings/{namespace}",
  service: "EventService",
  tag: "event bindings",
  words: "event binding",
  write: BINDING_WRITE,
  wire: manifestWire,
};

/** Use cases that change or check objects of a kind. */
interface Writes<B, T> {
  create(call: Call<Record<never, never>, B>, namespace: string): Promise<T>;
  update(call: Call<Record<never, never>, B>, namespace: string, name: string): Promise<T>;
  lint(call: Call<Record<never, never>, B>, namespace: string): Promise<T>;
}

function writeRoutes<B, T>(kind: KindRoutes, writes: Writes<B, T>): UnaryRoute[] {
  const { tag, words, write: body, service } = kind;
  const answer = { type: "object", schema: kindSchema(kind.kind) } as const;
  return [
    unary<B>({
      method: "POST",
      path: kind.path,
      operation: `${service}_Create${kind.kind}`,
      tag,
      summary: `Store a new ${words}`,
      body,
      answer,
      run: async (call) => kind.wire(await writes.create(call, param(call, "namespace"))),
    }),
    unary<B>({
      method: "PUT",
      path: `${kind.path}/{name}`,
      operation: `${service}_Update${kind.kind}`,
      tag,
      summary: `Replace a ${words}; it must carry the resourceVersion it is based on`,
      body,
      answer,
      run: async (call) =>
        kind.wire(await writes.update(call, param(call, "namespace"), param(call, "name"))),
    }),
    unary<B>({
      method: "POST",
      path: `${kind.path}/lint`,
      operation: `${service}_Lint${kind.kind}`,
      tag,
      summary: `Check a ${words} without storing it`,
      body,
      answer,
      run: async (call) => kind.wire(await writes.lint(call, param(call, "namespace"))),
    }),
  ];
}

function readRoutes(
  kind: KindRoutes,
  // deno-lint-ignore no-explicit-any -- each kind's own type
  get: (call: Call<any, any>, namespace: string, name: string) => Promise<any>,
): UnaryRoute[] {
  const { tag, words, service } = kind;
  const schema = kindSchema(kind.kind);
  return [
    unary({
      method: "GET",
      path: kind.path,
      operation: `${service}_List${kind.kind}s`,
      tag,
      summary: `List ${words}s`,
      query: { ...LIST_OPTIONS, namePattern: "string" },
      answer: { type: "list", schema },
      run: async (call) => {
        const { namePattern = "" } = call.query;
        const page = await listManifests(call.service, call.caller, ManifestKind[kind.kind], {
          ...listRequest(call),
          ...(namePattern === "" ? {} : { namePattern }),
        });
        return listWire(page.items.map(kind.wire), page);
      },
    }),
    unary({
      method: "GET",
      path: `${kind.path}/{name}`,
      operation: `${service}_Get${kind.kind}`,
      tag,
      summary: `Get a ${words}`,
      query: GET_OPTIONS,
      answer: { type: "object", schema },
      run: async (call) =>
        kind.wire(await get(call, param(call, "namespace"), param(call, "name"))),
    }),
    unary({
      method: "DELETE",
      path: `${kind.path}/{name}`,
      operation: `${service}_Delete${kind.kind}`,
      tag,
      summary: `Delete a ${words}`,
      query: DELETE_OPTIONS,
      answer: { type: "empty" },
      run: async (call) => {
        await deleteManifest(
          call.service,
          call.caller,
          ManifestKind[kind.kind],
          param(call, "namespace"),
          param(call, "name"),
          deleteConditions(call.query),
        );
        return {};
      },
    }),
  ];
}

function templateRoutes(kind: KindRoutes, name: TemplateKind): UnaryRoute[] {
  return [
    ...writeRoutes<TemplateBody, WorkflowTemplate>(kind, {
      create: ({ service, caller, body }, namespace) =>
        createTemplate(service, caller, name, namespace, body.template),
      update: ({ service, caller, body }, namespace, pathName) =>
        updateTemplate(service, caller, name, namespace, pathName, body.template),
      lint: ({ service, caller, body }, namespace) =>
        lintTemplate(service, caller, name, namespace, body.template),
    }),
    ...readRoutes(
      kind,
      ({ service, caller }, namespace, object) =>
        getTemplate(service, caller, name, namespace, object),
    ),
  ];
}

function switchRoute(action: "suspend" | "resume"): UnaryRoute {
  return unary({
    method: "PUT",
    path: `${CRON_WORKFLOWS.path}/{name}/${action}`,
    operation: action === "suspend"
      ? "CronWorkflowService_SuspendCronWorkflow"
      : "CronWorkflowService_ResumeCronWorkflow",
    tag: CRON_WORKFLOWS.tag,
    summary: action === "suspend" ? "Switch a schedule off" : "Switch a schedule on",
    body: CRON_SWITCH,
    answer: { type: "object", schema: kindSchema("CronWorkflow") },
    run: async (call) =>
      cronWire(
        await suspendCronWorkflow(
          call.service,
          call.caller,
          param(call, "namespace"),
          param(call, "name"),
          action === "suspend",
        ),
      ),
  });
}

/** Every route of stored manifests. */
export const MANIFEST_ROUTES: readonly Route[] = [
  ...templateRoutes(TEMPLATES, "WorkflowTemplate"),
  ...templateRoutes(CLUSTER_TEMPLATES, "ClusterWorkflowTemplate"),
  ...writeRoutes<CronBody, CronWorkflow>(CRON_WORKFLOWS, {
    create: ({ service, caller, body }, namespace) =>
      createCronWorkflow(service, caller, namespace, body.cronWorkflow),
    update: ({ service, caller, body }, namespace, name) =>
      updateCronWorkflow(service, caller, namespace, name, body.cronWorkflow),
    lint: ({ service, caller, body }, namespace) =>
      lintCronWorkflow(service, caller, namespace, body.cronWorkflow),
  }),
  ...readRoutes(
    CRON_WORKFLOWS,
    ({ service, caller }, namespace, name) =>
      getManifest<CronWorkflow>(service, caller, "CronWorkflow", namespace, name),
  ),
  switchRoute("suspend"),
  switchRoute("resume"),
  ...writeRoutes<BindingBody, WorkflowEventBinding>(BINDINGS, {
    create: ({ service, caller, body }, namespace) =>
      createBinding(service, caller, namespace, body.binding),
    update: ({ service, caller, body }, namespace, name) =>
      updateBinding(service, caller, namespace, name, body.binding),
    lint: ({ caller, body }, namespace) => lintBinding(caller, namespace, body.binding),
  }),
  ...readRoutes(
    BINDINGS,
    ({ service, caller }, namespace, name) =>
      getManifest<WorkflowEventBinding>(service, caller, "WorkflowEventBinding", namespace, name),
  ),
];
