/** Verbs on stored manifests: template, cluster-template, cron, binding, apply, archive, lint. */
import type { Command } from "commander";
import { isJsonObject, type Json, type JsonObject } from "../base/json.ts";
import type { Input } from "../client/client.ts";
import { ClientError } from "../client/transport.ts";
import type { Workflow } from "../spec/manifest.ts";
import {
  type Context,
  contextOf,
  outputOption,
  type OutputOptions,
  readManifests,
  UsageError,
} from "./context.ts";
import { age, type Format, print, printObject, printTable, say } from "./output.ts";

/** The operations of each kind, and the member of create and update bodies that holds the object. */
const RESOURCES = {
  template: {
    kind: "WorkflowTemplate",
    member: "template",
    create: "WorkflowTemplateService_CreateWorkflowTemplate",
    update: "WorkflowTemplateService_UpdateWorkflowTemplate",
    get: "WorkflowTemplateService_GetWorkflowTemplate",
    list: "WorkflowTemplateService_ListWorkflowTemplates",
    remove: "WorkflowTemplateService_DeleteWorkflowTemplate",
    lint: "WorkflowTemplateService_LintWorkflowTemplate",
  },
  "cluster-template": {
    kind: "ClusterWorkflowTemplate",
    member: "template",
    create: "ClusterWorkflowTemplateService_CreateClusterWorkflowTemplate",
    update: "ClusterWorkflowTemplateService_UpdateClusterWorkflowTemplate",
    get: "ClusterWorkflowTemplateService_GetClusterWorkflowTemplate",
    list: "ClusterWorkflowTemplateService_ListClusterWorkflowTemplates",
    remove: "ClusterWorkflowTemplateService_DeleteClusterWorkflowTemplate",
    lint: "ClusterWorkflowTemplateService_LintClusterWorkflowTemplate",
  },
  cron: {
    kind: "CronWorkflow",
    member: "cronWorkflow",
    create: "CronWorkflowService_CreateCronWorkflow",
    update: "CronWorkflowService_UpdateCronWorkflow",
    get: "CronWorkflowService_GetCronWorkflow",
    list: "CronWorkflowService_ListCronWorkflows",
    remove: "CronWorkflowService_DeleteCronWorkflow",
    lint: "CronWorkflowService_LintCronWorkflow",
  },
  binding: {
    kind: "WorkflowEventBinding",
    member: "binding",
    create: "EventService_CreateWorkflowEventBinding",
    update: "EventService_UpdateWorkflowEventBinding",
    get: "EventService_GetWorkflowEventBinding",
    list: "EventService_ListWorkflowEventBindings",
    remove: "EventService_DeleteWorkflowEventBinding",
    lint: "EventService_LintWorkflowEventBinding",
  },
} as const satisfies Record<string, Record<string, string>>;

type Resource = typeof RESOURCES[keyof typeof RESOURCES];

function resourceOf(kind: Json | undefined): Resource | undefined {
  return Object.values(RESOURCES).find((resource) => resource.kind === kind);
}

/** What a body holds is the server's to judge: the object goes as it was written. */
function bodyOf(
  { member }: Resource,
  namespace: string,
  object: JsonObject,
): NonNullable<Input<Resource["create"]>["body"]> {
  return { namespace, [member]: object };
}

function asJson(object: unknown): JsonObject {
  return object as JsonObject;
}

function metaOf(object: JsonObject): JsonObject {
  return isJsonObject(object["metadata"]) ? object["metadata"] : {};
}

function namespaceOf(object: JsonObject, context: Context): string {
  return String(metaOf(object)["namespace"] ?? context.namespace);
}

function show(object: JsonObject, format: Format, line: string): void {
  if (format === "json" || format === "yaml") printObject(object, format);
  else if (format === "name") print(String(metaOf(object)["name"]));
  else print(line);
}

async function create(
  context: Context,
  resource: Resource,
  object: JsonObject,
  format: Format,
): Promise<void> {
  const namespace = namespaceOf(object, context);
  const made = await context.client.call(resource.create, {
    params: { namespace },
    body: bodyOf(resource, namespace, object),
  });
  show(asJson(made), format, `${resource.kind} ${made.metadata.name} created`);
}

async function update(
  context: Context,
  resource: Resource,
  object: JsonObject,
  format: Format,
): Promise<void> {
  const namespace = namespaceOf(object, context);
  const params = { namespace, name: String(metaOf(object)["name"] ?? "") };
  const { metadata: { resourceVersion } } = await context.client.call(resource.get, { params });
  const next = {
    ...object,
    metadata: { ...metaOf(object), ...(resourceVersion === undefined ? {} : { resourceVersion }) },
  };
  const made = await context.client.call(resource.update, {
    params,
    body: bodyOf(resource, namespace, next),
  });
  show(asJson(made), format, `${resource.kind} ${made.metadata.name} updated`);
}

/** Creates or updates; Workflows are submitted. */
async function apply(context: Context, object: JsonObject, format: Format): Promise<void> {
  if (object["kind"] === "Workflow") {
    const namespace = namespaceOf(object, context);
    const made = await context.client.call("WorkflowService_CreateWorkflow", {
      params: { namespace },
      body: { namespace, workflow: object as unknown as Workflow },
    });
    show(asJson(made), format, `Workflow ${made.metadata.name} created`);
    return;
  }
  const resource = resourceOf(object["kind"]);
  if (resource === undefined) {
    throw new UsageError(`Cannot apply kind ${JSON.stringify(object["kind"])}`);
  }
  try {
    await update(context, resource, object, format);
  } catch (error) {
    if (!(error instanceof ClientError && error.status === 404)) throw error;
    await create(context, resource, object, format);
  }
}

function columns(resource: Resource, items: JsonObject[], now: number): void {
  if (resource.kind === "CronWorkflow") {
    printTable(
      ["NAME", "AGE", "LAST RUN", "SCHEDULES", "TIMEZONE", "SUSPENDED"],
      items.map((item) => {
        const spec = isJsonObject(item["spec"]) ? item["spec"] : {};
        const status = isJsonObject(item["status"]) ? item["status"] : {};
        return [
          String(metaOf(item)["name"]),
          age(metaOf(item)["creationTimestamp"] as string | null, now),
          age(status["lastScheduledTime"] as string | null, now),
          (spec["schedules"] as string[] ?? []).join(", "),
          String(spec["timezone"] ?? ""),
          String(spec["suspend"] ?? false),
        ];
      }),
    );
    return;
  }
  printTable(
    ["NAME", "AGE"],
    items.map((
      item,
    ) => [String(metaOf(item)["name"]), age(metaOf(item)["creationTimestamp"] as string, now)]),
  );
}

function addResource(program: Command, word: string, resource: Resource): void {
  const group = program.command(word).description(
    `${resource.kind}: create, get, list, update, delete, lint`,
  );
  group.command("create <files...>").addOption(outputOption())
    .action(async (files: string[], options: OutputOptions, command: Command) => {
      const context = contextOf(command);
      for (const object of await readManifests(files)) {
        await create(context, resource, object, options.output);
      }
    });
  group.command("update <files...>").addOption(outputOption())
    .action(async (files: string[], options: OutputOptions, command: Command) => {
      const context = contextOf(command);
      for (const object of await readManifests(files)) {
        await update(context, resource, object, options.output);
      }
    });
  group.command("get <names...>").addOption(outputOption())
    .action(async (names: string[], options: OutputOptions, command: Command) => {
      const context = contextOf(command);
      for (const name of names) {
        const object = await context.client.call(resource.get, {
          params: { namespace: context.namespace, name },
        });
        if (options.output === "name") print(name);
        else printObject(asJson(object), options.output === "json" ? "json" : "yaml");
      }
    });
  group.command("list").alias("ls").option("-A, --all-namespaces").option("-l, --selector <labels>")
    .addOption(outputOption())
    .action(
      async (
        options: OutputOptions & { allNamespaces?: boolean; selector?: string },
        command: Command,
      ) => {
        const context = contextOf(command);
        const answer = await context.client.call(resource.list, {
          params: { namespace: options.allNamespaces ? "" : context.namespace },
          query: { "listOptions.labelSelector": options.selector },
        });
        const items = (answer.items ?? []).map(asJson);
        if (options.output === "json" || options.output === "yaml") {
          printObject(items, options.output);
        } else if (options.output === "name") {
          items.forEach((item) => print(String(metaOf(item)["name"])));
        } else if (items.length === 0) say(`No ${resource.kind} found`);
        else columns(resource, items, context.now());
      },
    );
  group.command("delete <names...>").option("--ignore-not-found")
    .action(async (names: string[], options: { ignoreNotFound?: boolean }, command: Command) => {
      const context = contextOf(command);
      for (const name of names) {
        try {
          await context.client.call(resource.remove, {
            params: { namespace: context.namespace, name },
          });
          print(`${resource.kind} ${name} deleted`);
        } catch (error) {
          if (!(options.ignoreNotFound && error instanceof ClientError && error.status === 404)) {
            throw error;
          }
          say(error.message);
        }
      }
    });
  if (resource.kind !== "WorkflowEventBinding") {
    group.command("lint <files...>").action(
      async (files: string[], _options: unknown, command: Command) => {
        await lintFiles(contextOf(command), files);
      },
    );
  }
  if (resource.kind === "CronWorkflow") {
    const switches = {
      suspend: "CronWorkflowService_SuspendCronWorkflow",
      resume: "CronWorkflowService_ResumeCronWorkflow",
    } as const;
    for (const verb of ["suspend", "resume"] as const) {
      group.command(`${verb} <names...>`).action(
        async (names: string[], _options: unknown, command: Command) => {
          const context = contextOf(command);
          for (const name of names) {
            const named = { name, namespace: context.namespace };
            await context.client.call(switches[verb], { params: named, body: named });
            print(`CronWorkflow ${name} ${verb === "suspend" ? "suspended" : "resumed"}`);
          }
        },
      );
    }
  }
}

/** Asks the server for its verdict on every manifest; throws when one is refused. */
async function lintFiles(context: Context, files: string[]): Promise<void> {
  let faults = 0;
  for (const object of await readManifests(files)) {
    const label = `${object["kind"] ?? "Workflow"} ${
      metaOf(object)["name"] ?? metaOf(object)["generateName"] ?? ""
    }`;
    const namespace = namespaceOf(object, context);
    const resource = resourceOf(object["kind"]);
    const params = { namespace };
    try {
      if (resource === undefined) {
        await context.client.call("WorkflowService_LintWorkflow", {
          params,
          body: { namespace, workflow: object as unknown as Workflow },
        });
      } else {
        await context.client.call(resource.lint, {
          params,
          body: bodyOf(resource, namespace, object),
        });
      }
      print(`✔ ${label}`);
    } catch (error) {
      if (!(error instanceof ClientError) || error.status === 0) throw error;
      faults++;
      print(`✖ ${label}: ${error.message}`);
    }
  }
  if (faults > 0) throw new Error(`${faults} manifest${faults === 1 ? " is" : "s are"} not valid`);
}

function addArchive(program: Command): void {
  const archive = program.command("archive").description("finished workflows kept in the archive");
  const byUidOrName = (
    context: Context,
    target: string,
  ): { uid: string; query: Record<string, string> } =>
    /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(target)
      ? { uid: target, query: { namespace: context.namespace } }
      : { uid: "", query: { namespace: context.namespace, name: target } };
  archive.command("list").option("-l, --selector <labels>").addOption(outputOption())
    .action(async (options: OutputOptions & { selector?: string }, command: Command) => {
      const context = contextOf(command);
      const answer = await context.client.call("ArchivedWorkflowService_ListArchivedWorkflows", {
        query: { namespace: context.namespace, "listOptions.labelSelector": options.selector },
      });
      const items = (answer.items ?? []).map(asJson);
      if (options.output === "json" || options.output === "yaml") {
        return printObject(items, options.output);
      }
      printTable(
        ["NAME", "UID", "STATUS", "FINISHED"],
        items.map((item) => {
          const status = isJsonObject(item["status"]) ? item["status"] : {};
          return [
            String(metaOf(item)["name"]),
            String(metaOf(item)["uid"]),
            String(status["phase"]),
            String(status["finishedAt"]),
          ];
        }),
      );
    });
  archive.command("get <uid-or-name>").addOption(outputOption())
    .action(async (target: string, options: OutputOptions, command: Command) => {
      const context = contextOf(command);
      const { uid, query } = byUidOrName(context, target);
      printObject(
        asJson(
          await context.client.call("ArchivedWorkflowService_GetArchivedWorkflow", {
            params: { uid },
            query,
          }),
        ),
        options.output === "json" ? "json" : "yaml",
      );
    });
  archive.command("delete <uid-or-name>").action(
    async (target: string, _options: unknown, command: Command) => {
      const context = contextOf(command);
      const { uid, query } = byUidOrName(context, target);
      await context.client.call("ArchivedWorkflowService_DeleteArchivedWorkflow", {
        params: { uid },
        query,
      });
      print(`Archived workflow ${target} deleted`);
    },
  );
  const again = {
    retry: { operation: "ArchivedWorkflowService_RetryArchivedWorkflow", done: "retried" },
    resubmit: {
      operation: "ArchivedWorkflowService_ResubmitArchivedWorkflow",
      done: "resubmitted",
    },
  } as const;
  for (const verb of ["retry", "resubmit"] as const) {
    archive.command(`${verb} <uid-or-name>`).option("--memoized").option("--restart-successful")
      .option("--node-field-selector <terms>")
      .action(async (target: string, options: JsonObject, command: Command) => {
        const context = contextOf(command);
        const { uid, query } = byUidOrName(context, target);
        const body = { uid, ...query, ...options };
        const { operation, done } = again[verb];
        const made = await context.client.call(operation, { params: { uid }, body });
        print(`workflow ${made.metadata.name} ${done}`);
      });
  }
  archive.command("list-label-keys").action(async (_options: unknown, command: Command) => {
    const answer = await contextOf(command).client.call(
      "ArchivedWorkflowService_ListArchivedWorkflowLabelKeys",
      {},
    );
    for (const key of (answer["items"] ?? []) as string[]) print(key);
  });
  archive.command("list-label-values").requiredOption("-l, --selector <key>").action(
    async (options: { selector: string }, command: Command) => {
      const answer = await contextOf(command).client.call(
        "ArchivedWorkflowService_ListArchivedWorkflowLabelValues",
        {
          query: { "listOptions.labelSelector": options.selector },
        },
      );
      for (const value of (answer["items"] ?? []) as string[]) print(value);
    },
  );
}

/** Registers everything that handles stored manifests. */
export function addResourceCommands(program: Command): void {
  for (const [word, resource] of Object.entries(RESOURCES)) addResource(program, word, resource);
  addArchive(program);
  program.command("apply").description("create or update manifests of any kind").requiredOption(
    "-f, --filename <files...>",
  )
    .addOption(outputOption())
    .action(async (options: OutputOptions & { filename: string[] }, command: Command) => {
      const context = contextOf(command);
      for (const object of await readManifests(options.filename)) {
        await apply(context, object, options.output);
      }
    });
  program.command("lint <files...>").description(
    "the server's verdict on manifests, without storing them",
  )
    .action(async (files: string[], _options: unknown, command: Command) =>
      await lintFiles(contextOf(command), files)
    );
}
