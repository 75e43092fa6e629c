/** Verbs on stored manifests: template, cluster-template, cron, binding, apply, archive, lint. */
import type { Command } from "commander";
import { isJsonObject, type Json, type JsonObject } from "../base/json.ts";
import { ClientError, segment } from "./client.ts";
import {
  type Context,
  contextOf,
  outputOption,
  type OutputOptions,
  readManifests,
  UsageError,
} from "./context.ts";
import { age, type Format, print, printObject, printTable, say } from "./output.ts";
import { workflowsPath } from "./workflow_commands.ts";

/** How a kind is reached over REST. */
interface Resource {
  kind: string;
  /** First path part under `/api/v1`. */
  path: string;
  clusterWide: boolean;
  /** Member of create and update bodies that holds the object. */
  member: string;
}

const RESOURCES: Record<string, Resource> = {
  template: {
    kind: "WorkflowTemplate",
    path: "workflow-templates",
    clusterWide: false,
    member: "template",
  },
  "cluster-template": {
    kind: "ClusterWorkflowTemplate",
    path: "cluster-workflow-templates",
    clusterWide: true,
    member: "template",
  },
  cron: {
    kind: "CronWorkflow",
    path: "cron-workflows",
    clusterWide: false,
    member: "cronWorkflow",
  },
  binding: {
    kind: "WorkflowEventBinding",
    path: "workflow-event-bindings",
    clusterWide: false,
    member: "binding",
  },
};

function resourceOf(kind: Json | undefined): Resource | undefined {
  return Object.values(RESOURCES).find((resource) => resource.kind === kind);
}

function pathOf(resource: Resource, namespace: string, name?: string, verb?: string): string {
  return [
    `/api/v1/${resource.path}`,
    ...(resource.clusterWide ? [] : [segment(namespace)]),
    ...(name === undefined ? [] : [segment(name)]),
    ...(verb === undefined ? [] : [verb]),
  ].join("/");
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
  const made = await context.client.request("POST", pathOf(resource, namespace), {
    body: { namespace, [resource.member]: object },
  });
  show(made, format, `${resource.kind} ${metaOf(made)["name"]} created`);
}

async function update(
  context: Context,
  resource: Resource,
  object: JsonObject,
  format: Format,
): Promise<void> {
  const namespace = namespaceOf(object, context);
  const path = pathOf(resource, namespace, String(metaOf(object)["name"] ?? ""));
  const old = await context.client.request("GET", path);
  const resourceVersion = metaOf(old)["resourceVersion"];
  const next = {
    ...object,
    metadata: { ...metaOf(object), ...(resourceVersion === undefined ? {} : { resourceVersion }) },
  };
  const made = await context.client.request("PUT", path, {
    body: { namespace, [resource.member]: next },
  });
  show(made, format, `${resource.kind} ${metaOf(made)["name"]} updated`);
}

/** Creates or updates; Workflows are submitted. */
async function apply(context: Context, object: JsonObject, format: Format): Promise<void> {
  if (object["kind"] === "Workflow") {
    const namespace = namespaceOf(object, context);
    const made = await context.client.request("POST", workflowsPath(namespace), {
      body: { namespace, workflow: object },
    });
    show(made, format, `Workflow ${metaOf(made)["name"]} created`);
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
        const object = await context.client.request(
          "GET",
          pathOf(resource, context.namespace, name),
        );
        if (options.output === "name") print(name);
        else printObject(object, options.output === "json" ? "json" : "yaml");
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
        const base = pathOf(resource, options.allNamespaces ? "" : context.namespace);
        const answer = await context.client.request("GET", base, {
          query: { "listOptions.labelSelector": options.selector },
        });
        const items = (answer["items"] ?? []) as JsonObject[];
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
          await context.client.request("DELETE", pathOf(resource, context.namespace, name));
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
    for (const verb of ["suspend", "resume"]) {
      group.command(`${verb} <names...>`).action(
        async (names: string[], _options: unknown, command: Command) => {
          const context = contextOf(command);
          for (const name of names) {
            await context.client.request("PUT", pathOf(resource, context.namespace, name, verb), {
              body: { name, namespace: context.namespace },
            });
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
    const [path, member] = resource === undefined
      ? [workflowsPath(namespace, undefined, "lint"), "workflow"]
      : [`${pathOf(resource, namespace)}/lint`, resource.member];
    try {
      await context.client.request("POST", path, { body: { namespace, [member]: object } });
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
      const answer = await context.client.request("GET", "/api/v1/archived-workflows", {
        query: { namespace: context.namespace, "listOptions.labelSelector": options.selector },
      });
      const items = (answer["items"] ?? []) as JsonObject[];
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
        await context.client.request("GET", `/api/v1/archived-workflows/${uid}`, { query }),
        options.output === "json" ? "json" : "yaml",
      );
    });
  archive.command("delete <uid-or-name>").action(
    async (target: string, _options: unknown, command: Command) => {
      const context = contextOf(command);
      const { uid, query } = byUidOrName(context, target);
      await context.client.request("DELETE", `/api/v1/archived-workflows/${uid}`, { query });
      print(`Archived workflow ${target} deleted`);
    },
  );
  for (const verb of ["retry", "resubmit"]) {
    archive.command(`${verb} <uid-or-name>`).option("--memoized").option("--restart-successful")
      .option("--node-field-selector <terms>")
      .action(async (target: string, options: JsonObject, command: Command) => {
        const context = contextOf(command);
        const { uid, query } = byUidOrName(context, target);
        const body = { uid, ...query, ...options };
        const made = await context.client.request(
          "PUT",
          `/api/v1/archived-workflows/${uid}/${verb}`,
          { body },
        );
        print(`workflow ${metaOf(made)["name"]} ${verb === "retry" ? "retried" : "resubmitted"}`);
      });
  }
  archive.command("list-label-keys").action(async (_options: unknown, command: Command) => {
    const answer = await contextOf(command).client.request(
      "GET",
      "/api/v1/archived-workflows-label-keys",
    );
    for (const key of (answer["items"] ?? []) as string[]) print(key);
  });
  archive.command("list-label-values").requiredOption("-l, --selector <key>").action(
    async (options: { selector: string }, command: Command) => {
      const answer = await contextOf(command).client.request(
        "GET",
        "/api/v1/archived-workflows-label-values",
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
