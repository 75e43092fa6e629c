/** Commands about stored manifests: template, cluster-template, cron, binding, subscription; apply. */
import type { Command } from "commander";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { ClientError } from "../client/transport.ts";
import type { Workflow } from "../spec/manifest.ts";
import { addCronCommands } from "./cron_commands.ts";
import {
  type Context,
  contextOf,
  example,
  isNotFound,
  manifestVersion,
  UsageError,
} from "./context.ts";
import { addLintOptions, lintFiles, type LintOptions } from "./lint_command.ts";
import {
  addStrict,
  expandFolders,
  isWorkflowTest,
  metadataOf,
  readManifestFiles,
  withPlace,
} from "./manifests.ts";
import { asManifest, outputOption, type OutputOptions, print, printObject, say } from "./output.ts";
import { printResource, printResources } from "./resource_text.ts";
import {
  ALL_KINDS,
  applyObject,
  asJson,
  createObject,
  leftOut,
  listAll,
  meantKind,
  namespaceOf,
  ownGroups,
  type Resource,
  RESOURCE_WORDS,
  resourceOf,
  RESOURCES,
  type ResourceWord,
  updateObject,
} from "./resources.ts";
import {
  addOverrides,
  type Overrides,
  parametersOf,
  withMetadata,
  withSpec,
} from "./submit_command.ts";

interface StoreOptions extends OutputOptions, Overrides {
  strict: boolean;
  schedule?: string;
}

/** The object with the overrides of `cron create` and `cron update`. */
async function overridden(
  resource: Resource,
  object: JsonObject,
  options: StoreOptions,
): Promise<JsonObject> {
  const metadata = withMetadata(metadataOf(object), options);
  if (resource.kind !== "CronWorkflow") return { ...object, metadata };
  // A name of the manifest would win over it.
  if (options.generateName !== undefined && options.name === undefined) delete metadata["name"];
  const spec = isJsonObject(object["spec"]) ? object["spec"] : {};
  const workflowSpec = isJsonObject(spec["workflowSpec"]) ? spec["workflowSpec"] : {};
  const next: JsonObject = {
    ...spec,
    workflowSpec: withSpec(workflowSpec, options, await parametersOf(options)),
  };
  if (options.schedule !== undefined) next["schedules"] = [options.schedule];
  return { ...object, metadata, spec: next };
}

/** Reads manifests of one kind and stores each. */
async function store(
  context: Context,
  resource: Resource,
  verb: "create" | "update",
  files: string[],
  options: StoreOptions,
): Promise<void> {
  const found = await readManifestFiles(files, options.strict, resource.kind);
  for (const { object: { kind } } of found) {
    if (kind !== undefined && kind !== resource.kind) {
      throw new UsageError(
        `Expected a ${resource.kind}, ${
          files.join(", ")
        } holds a ${kind}; "sluice apply -f" takes every kind`,
      );
    }
  }
  for (const { object: written, lineOf } of found) {
    const object = await overridden(resource, written, options);
    try {
      const made = verb === "create"
        ? await createObject(context, resource, object)
        : await updateObject(context, resource, object);
      await printResource(context, resource, made, options.output);
    } catch (error) {
      if (!(error instanceof ClientError) || error.status === 0) throw error;
      const message = withPlace(error.message, { kind: resource.kind, ...object }, lineOf);
      throw new ClientError(`failed to ${verb} ${resource.words}: ${message}`, error.status);
    }
  }
}

interface ListOptions extends OutputOptions {
  allNamespaces?: boolean;
  selector?: string;
  headers: boolean;
}

interface DeleteOptions {
  all?: boolean;
  ignoreNotFound?: boolean;
}

async function remove(
  context: Context,
  resource: Resource,
  names: string[],
  options: DeleteOptions,
): Promise<void> {
  if (names.length === 0 && !options.all) {
    throw new UsageError(`Name a ${resource.kind}, or use --all`);
  }
  const chosen = names.length > 0
    ? names
    : (await listAll(context, resource, context.namespace)).map((item) =>
      String(metadataOf(item)["name"])
    );
  const { dependents } = resource;
  const addition = dependents === "" ? "" : `; ${dependents} are deleted with it`;
  for (const name of chosen) {
    try {
      await context.client.call(resource.remove, {
        params: { namespace: context.namespace, name },
      });
      print(`${resource.kind} '${name}' deleted${addition}`);
    } catch (error) {
      if (!isNotFound(error) || !options.ignoreNotFound) throw error;
      print(`${resource.kind} '${name}' not found`);
    }
  }
}

function addResource(
  program: Command,
  word: ResourceWord,
  exit: (status: number) => void,
): void {
  const { kind } = RESOURCES[word];
  const isCron = kind === "CronWorkflow";
  const group = program.command(word).description(
    `${kind}: create, get, list, update, delete, lint${
      isCron ? ", suspend, resume, backfill" : ""
    }`,
  );
  addStore(group, word, "create");
  addStore(group, word, "update");
  addGet(group, word);
  addList(group, word);
  addDelete(group, word);
  addLint(group, word, exit);
  if (isCron) addCronCommands(group);
}

function addStore(group: Command, word: ResourceWord, verb: "create" | "update"): void {
  const resource = RESOURCES[word];
  const command = group.command(`${verb} <files...>`)
    .description(`${verb} ${resource.words}s from files`);
  addStrict(command).addOption(outputOption("name", "json", "yaml", "wide"));
  if (resource.kind === "CronWorkflow") {
    addOverrides(command).option("--schedule <schedule>", "schedule instead of the manifest's");
  }
  command.addHelpText(...example(`sluice ${word} ${verb} ${word}.yaml`))
    .action(async (files: string[], options: StoreOptions, self: Command) =>
      await store(contextOf(self), resource, verb, files, options)
    );
}

function addGet(group: Command, word: ResourceWord): void {
  const resource = RESOURCES[word];
  group.command("get <names...>").description(`show ${resource.words}s`)
    .addOption(outputOption("name", "json", "yaml", "wide"))
    .addHelpText(...example(`sluice ${word} get nightly -o yaml`))
    .action(async (names: string[], options: OutputOptions, command: Command) => {
      const context = contextOf(command);
      for (const name of names) {
        const object = await context.client.call(resource.get, {
          params: { namespace: context.namespace, name },
        });
        await printResource(context, resource, asJson(object), options.output);
      }
    });
}

function addList(group: Command, word: ResourceWord): void {
  const resource = RESOURCES[word];
  group.command("list").alias("ls").description(`list ${resource.words}s`)
    .option("-A, --all-namespaces", "those of every namespace")
    .option("-l, --selector <labels>", "only those with these labels")
    .option("--no-headers", "no headings above the table")
    .addOption(outputOption("name", "json", "yaml", "wide"))
    .addHelpText(...example(`sluice ${word} list -l app=shop -o name`))
    .action(async (options: ListOptions, command: Command) => {
      const context = contextOf(command);
      const namespaces = options.allNamespaces === true;
      const namespace = namespaces ? "" : context.namespace;
      const items = await listAll(context, resource, namespace, options.selector);
      await printResources(context, resource, items, {
        format: options.output,
        namespaces,
        heads: options.headers,
      });
    });
}

function addDelete(group: Command, word: ResourceWord): void {
  const resource = RESOURCES[word];
  const addition = resource.dependents === "" ? "" : `, each with ${resource.dependents}`;
  group.command("delete [names...]").description(`delete ${resource.words}s${addition}`)
    .option("--all", `every one${resource.namespaced ? " of the namespace" : ""}`)
    .option("--ignore-not-found", "succeed even if one does not exist")
    .addHelpText(...example(`sluice ${word} delete nightly`))
    .action(async (names: string[], options: DeleteOptions, command: Command) =>
      await remove(contextOf(command), resource, names, options)
    );
}

function addLint(group: Command, word: ResourceWord, exit: (status: number) => void): void {
  const { kind, words } = RESOURCES[word];
  addLintOptions(group.command("lint <files...>").description(`check ${words}s`))
    .addHelpText(...example(`sluice ${word} lint ${word}.yaml`))
    .action(async (files: string[], options: LintOptions, command: Command) =>
      exit(await lintFiles(contextOf(command), files, { ...options, kinds: [kind] }))
    );
}

/** Creates or updates an object; a Workflow is submitted. */
async function apply(
  context: Context,
  object: JsonObject,
  { output }: OutputOptions,
  groups: ReadonlySet<string>,
): Promise<void> {
  const resource = resourceOf(object["kind"]);
  let made: JsonObject;
  let done: string;
  if (resource !== undefined) ({ made, done } = await applyObject(context, resource, object));
  else if (object["kind"] === "Workflow") {
    const namespace = namespaceOf(object, context);
    made = asJson(
      await context.client.call("WorkflowService_CreateWorkflow", {
        params: { namespace },
        body: { namespace, workflow: object as unknown as Workflow },
      }),
    );
    done = "created";
  } else {
    const kinds = ALL_KINDS.join(", ");
    const meant = meantKind(object, groups);
    throw new UsageError(
      object["kind"] === undefined
        ? `it has no kind; expected one of ${kinds}`
        : `expected one of ${kinds}${meant === undefined ? "" : `: did you mean ${meant}?`}`,
    );
  }
  const name = String(metadataOf(made)["name"]);
  if (output === "json" || output === "yaml") {
    const version = await manifestVersion(context);
    printObject(asManifest(made, String(object["kind"]), version), output);
  } else print(output === "name" ? name : `${object["kind"]} ${name} ${done}`);
}

/** Applies all manifests in order. An error says which manifest failed, and how many were applied before it. */
async function applyAll(
  context: Context,
  files: string[],
  options: OutputOptions & { strict: boolean },
): Promise<void> {
  const inside = await expandFolders(files);
  if (inside.length === 0) {
    throw new UsageError(`${files.join(", ")}: no file .yaml, .yml or .json`);
  }
  const all = (await readManifestFiles(inside, options.strict))
    .filter(({ object }) => !isWorkflowTest(object));
  if (all.length === 0) {
    throw new UsageError(`${files.join(", ")}: only workflow tests, which "sluice test" reads`);
  }
  const groups = ownGroups(all.map(({ object }) => object));
  const ours = all.filter(({ object }) => leftOut(object, groups) === undefined);
  // Of nothing else, a refusal says what is expected.
  const found = ours.length === 0 ? all : ours;
  for (const { file, object } of ours.length === 0 ? [] : all) {
    const text = leftOut(object, groups);
    if (text !== undefined) say(`${file}: ${text}`);
  }
  for (const [at, { file, object, lineOf }] of found.entries()) {
    try {
      await apply(context, object, options, groups);
    } catch (error) {
      const isExpected = error instanceof ClientError || error instanceof UsageError;
      if (!isExpected) throw error;
      const { name, generateName } = metadataOf(object);
      const what = [file, [object["kind"], name ?? generateName].filter(Boolean).join(" ")];
      const left = found.length - at - 1;
      const rest = found.length === 1 ? "" : `; applied before it: ${at}, not tried: ${left}`;
      const message = `${what.filter((one) => one !== "").join(": ")}: ${
        withPlace(error.message, object, lineOf)
      }${rest}`;
      throw error instanceof ClientError
        ? new ClientError(message, error.status)
        : new UsageError(message);
    }
  }
}

/** Registers everything that handles stored manifests. `exit` receives the exit status of a command that ran. */
export function addResourceCommands(program: Command, exit: (status: number) => void): void {
  for (const word of RESOURCE_WORDS) addResource(program, word, exit);
  const command = program.command("apply").description("create or update manifests of any kind")
    .requiredOption("-f, --filename <files...>", "files, folders, - or URLs");
  addStrict(command)
    .addOption(outputOption("name", "json", "yaml"))
    .addHelpText(...example("sluice apply -f examples/event-binding.yaml"))
    .action(
      async (
        options: OutputOptions & { filename: string[]; strict: boolean },
        command: Command,
      ) => {
        await applyAll(contextOf(command), options.filename, options);
      },
    );
}
