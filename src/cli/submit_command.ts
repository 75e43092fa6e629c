/** `submit`: workflows from files, or from a stored template. */
import { type Command, Option } from "commander";
import { isJsonObject, type JsonObject } from "../base/json.ts";
import { nearestName } from "../base/nearest_name.ts";
import { timeOf } from "../base/time_of.ts";
import { ClientError } from "../client/transport.ts";
import type { Workflow } from "../spec/manifest.ts";
import { scheduledTimeAnnotation } from "../spec/naming.ts";
import {
  collect,
  type Context,
  contextOf,
  example,
  labelPrefix,
  pairs,
  UsageError,
  wholeNumber,
} from "./context.ts";
import {
  addFollowing,
  checkWatched,
  followAll,
  type FollowOptions,
  requireLook,
  type WatchLook,
} from "./follow.ts";
import {
  addStrict,
  jsonText,
  metadataOf,
  readExactValues,
  readManifestFiles,
  withParameters,
  withPlace,
} from "./manifests.ts";
import { outputOption, type OutputOptions, say } from "./output.ts";
import { asJson, namespaceOf, type Resource, RESOURCES } from "./resources.ts";
import { printWorkflow } from "./workflow_text.ts";

/** Options that change a manifest before it is sent. */
export interface Overrides {
  parameter?: string[];
  parameterFile?: string;
  name?: string;
  generateName?: string;
  labels?: string;
  annotations?: string;
  entrypoint?: string;
  serviceaccount?: string;
  priority?: number;
  podPriorityClassName?: string;
}

interface SubmitOptions extends OutputOptions, Overrides, FollowOptions, WatchLook {
  from?: string;
  scheduledTime?: string;
  dryRun?: boolean;
  serverDryRun?: boolean;
  strict: boolean;
  idempotencyKey?: string;
}

/** Adds the overrides that apply to cron workflows too. */
export function addOverrides(command: Command): Command {
  return command
    .option("-p, --parameter <name=value>", "set an argument; may be repeated", collect)
    .option("-f, --parameter-file <file>", "YAML or JSON file of arguments")
    .option("--name <name>", "name instead of the manifest's")
    .option("--generate-name <prefix>", "generateName instead of the manifest's")
    .option("-l, --labels <a=b,...>", "labels to add")
    .option("--entrypoint <template>", "template to begin with")
    .option("--serviceaccount <name>", "service account of the steps' pods");
}

/** Arguments of `-p` and `-f`. Those of `-p` take precedence. */
export async function parametersOf(options: Overrides): Promise<Map<string, string>> {
  const given = pairs(options.parameter, "a parameter");
  if (options.parameterFile === undefined) return given;
  const texts = Object.entries(await readExactValues(options.parameterFile)).map((
    [name, value],
  ): [string, string] => [name, typeof value === "string" ? value : jsonText(value, name)]);
  return new Map([...texts, ...given]);
}

/** The scheduled time as an annotation; none without one. @throws {UsageError} */
async function scheduledTime(
  context: Context,
  { scheduledTime: time }: SubmitOptions,
): Promise<Record<string, string>> {
  if (time === undefined) return {};
  if (timeOf(time) === undefined) {
    throw new UsageError(
      `--scheduled-time takes a time such as 2026-01-31T12:00:00Z, received ${
        JSON.stringify(time)
      }`,
    );
  }
  return { [scheduledTimeAnnotation({ labelPrefix: await labelPrefix(context) })]: time };
}

/** Metadata with the overrides of name, labels and annotations. */
export function withMetadata(metadata: JsonObject, options: Overrides): JsonObject {
  const next = { ...metadata };
  if (options.name !== undefined) next["name"] = options.name;
  if (options.generateName !== undefined) next["generateName"] = options.generateName;
  for (const key of ["labels", "annotations"] as const) {
    const text = options[key];
    if (text === undefined) continue;
    const old = isJsonObject(next[key]) ? next[key] : {};
    next[key] = { ...old, ...Object.fromEntries(pairs(text.split(","), key)) };
  }
  return next;
}

/** A workflow spec with overrides. */
export function withSpec(
  spec: JsonObject,
  options: Overrides,
  given: Map<string, string>,
): JsonObject {
  const next = { ...withParameters(spec, given) };
  if (options.entrypoint !== undefined) next["entrypoint"] = options.entrypoint;
  if (options.serviceaccount !== undefined) next["serviceAccountName"] = options.serviceaccount;
  if (options.priority !== undefined) next["priority"] = options.priority;
  if (options.podPriorityClassName !== undefined) {
    next["podPriorityClassName"] = options.podPriorityClassName;
  }
  return next;
}

async function submitFrom(
  context: Context,
  from: string,
  options: SubmitOptions,
): Promise<Workflow> {
  const [kind, name, ...more] = from.split("/");
  if (!kind || !name || more.length > 0) {
    throw new UsageError(
      `--from takes KIND/NAME, for example workflowtemplate/build; received ${from}`,
    );
  }
  const given = await parametersOf(options);
  await warnOfStrange(context, [kind, name], context.namespace, given);
  const annotations = [
    ...(options.annotations === undefined ? [] : [options.annotations]),
    ...Object.entries(await scheduledTime(context, options)).map((pair) => pair.join("=")),
  ];
  return await context.client.call("WorkflowService_SubmitWorkflow", {
    params: { namespace: context.namespace },
    body: {
      namespace: context.namespace,
      resourceKind: kind,
      resourceName: name,
      submitOptions: {
        name: options.name,
        generateName: options.generateName,
        entryPoint: options.entrypoint,
        parameters: [...given].map(([key, value]) => `${key}=${value}`),
        serviceAccount: options.serviceaccount,
        dryRun: options.dryRun,
        serverDryRun: options.serverDryRun,
        labels: options.labels,
        annotations: annotations.length === 0 ? undefined : annotations.join(","),
        priority: options.priority,
        podPriorityClassName: options.podPriorityClassName,
      },
    },
    idempotencyKey: options.idempotencyKey,
  });
}

/** Creates the workflows of some files in order, and yields each at once: when one is refused, those before it run. */
async function* submitFiles(
  context: Context,
  files: string[],
  options: SubmitOptions,
): AsyncGenerator<Workflow> {
  const given = await parametersOf(options);
  const manifests = await readManifestFiles(files, options.strict, "Workflow");
  for (const { file, object: { kind } } of manifests) {
    if (kind !== undefined && kind !== "Workflow") {
      const kinds = ["Workflow", ...Object.values(RESOURCES).map((one) => one.kind)];
      const isTyping = nearestName(String(kind), kinds) === "Workflow";
      const advice = isTyping ? ": did you mean Workflow?" : '; use "sluice apply -f" for it';
      throw new UsageError(`submit takes Workflows, ${file} holds a ${kind}${advice}`);
    }
  }
  checkWatched(manifests.length, options);
  if (options.name !== undefined && manifests.length > 1) {
    throw new UsageError("--name is for one workflow, but the files hold several");
  }
  // The second would be taken for a repeat of the first, or be refused when that is created.
  if (options.idempotencyKey !== undefined && manifests.length > 1) {
    throw new UsageError("--idempotency-key is for one workflow, but the files hold several");
  }
  for (const { file, object, lineOf } of manifests) {
    for (const text of unreadParameters(object["spec"], given)) say(`${file}: warning: ${text}`);
    const template = templateOf(object["spec"]);
    const namespace = namespaceOf(object, context);
    if (template !== undefined) await warnOfStrange(context, template, namespace, given, object);
    try {
      yield await submitManifest(context, object, options, given);
    } catch (error) {
      if (!(error instanceof ClientError) || error.status === 0) throw error;
      const message = withPlace(error.message, object, lineOf);
      const { name, generateName } = metadataOf(object);
      // Of several, nobody could tell which one is meant.
      const which = manifests.length === 1
        ? ""
        : `${file}: in ${JSON.stringify(name ?? generateName ?? "")}: `;
      throw new ClientError(which + message, error.status);
    }
  }
}

/** Given parameters that the manifest names nowhere: probably misspelt. A template of the server may read any. */
function unreadParameters(spec: unknown, given: ReadonlyMap<string, string>): string[] {
  if (!isJsonObject(spec)) return [];
  if (/emplateRef":/.test(JSON.stringify(spec))) return [];
  return strangeParameters(spec, given).map(({ name, guess }) =>
    `nothing reads the parameter ${JSON.stringify(name)}${guess}`
  );
}

/** Given parameters that a spec neither declares nor names elsewhere, and a question which one was meant. */
function strangeParameters(
  spec: JsonObject,
  given: ReadonlyMap<string, string>,
): { name: string; guess: string }[] {
  const text = JSON.stringify(spec);
  const args = isJsonObject(spec["arguments"]) ? spec["arguments"] : {};
  const declared = Array.isArray(args["parameters"])
    ? args["parameters"].filter(isJsonObject).map(({ name }) => String(name))
    : [];
  return [...given.keys()].filter((name) => !hasWord(text, name)).map((name) => {
    const meant = nearestName(name, declared);
    return { name, guess: meant === undefined ? "" : `: did you mean ${JSON.stringify(meant)}?` };
  });
}

/** Tells whether a text has a name, not as a part of a longer one: `imag` is not in `image`. */
function hasWord(text: string, name: string): boolean {
  return new RegExp(`(?<![\\w-])${name.replace(/[^\w-]/g, "\\$&")}(?![\\w-])`).test(text);
}

/** The stored kinds that a workflow comes from, by the beginning of the words that the server takes for them. */
const SOURCES: readonly [word: RegExp, resource: Resource][] = [
  [/^(workflowtemplate|wftmpl)/i, RESOURCES.template],
  [/^(clusterworkflowtemplate|cwftmpl)/i, RESOURCES["cluster-template"]],
  [/^cron/i, RESOURCES.cron],
];

/**
 * Warns of given parameters that a stored template does not have. The server takes them, since what the template calls may read
 * them. @param own the manifest that names the template
 */
async function warnOfStrange(
  context: Context,
  [kind, name]: [kind: string, name: string],
  namespace: string,
  given: ReadonlyMap<string, string>,
  own: JsonObject = {},
): Promise<void> {
  const resource = SOURCES.find(([word]) => word.test(kind))?.[1];
  if (resource === undefined || given.size === 0) return;
  let stored: JsonObject;
  try {
    stored = asJson(await context.client.call(resource.get, { params: { namespace, name } }));
  } catch (error) {
    // Who may not read it may still submit it, and the submit says all else better.
    if (error instanceof ClientError) return;
    throw error;
  }
  const whole = isJsonObject(stored["spec"]) ? stored["spec"] : {};
  const spec = resource === RESOURCES.cron ? whole["workflowSpec"] : whole;
  if (!isJsonObject(spec) || spec["workflowTemplateRef"] !== undefined) return;
  const ownText = JSON.stringify(own);
  for (const { name: parameter, guess } of strangeParameters(spec, given)) {
    if (hasWord(ownText, parameter)) continue;
    say(`warning: ${kind}/${name} has no parameter ${JSON.stringify(parameter)}${guess}`);
  }
}

/** The template that a manifest is made of, as `--from` names one. */
function templateOf(spec: unknown): [kind: string, name: string] | undefined {
  const ref = isJsonObject(spec) ? spec["workflowTemplateRef"] : undefined;
  if (!isJsonObject(ref) || typeof ref["name"] !== "string") return undefined;
  return [
    ref["clusterScope"] === true ? "clusterworkflowtemplate" : "workflowtemplate",
    ref["name"],
  ];
}

async function submitManifest(
  context: Context,
  manifest: JsonObject,
  options: SubmitOptions,
  given: Map<string, string>,
): Promise<Workflow> {
  const metadata = withMetadata(metadataOf(manifest), options);
  // What is no object is sent as it is: the server says so.
  const written = { metadata: manifest["metadata"] ?? {}, spec: manifest["spec"] ?? {} };
  const scheduled = await scheduledTime(context, options);
  if (options.scheduledTime !== undefined) {
    const old = isJsonObject(metadata["annotations"]) ? metadata["annotations"] : {};
    metadata["annotations"] = { ...old, ...scheduled };
  }
  const workflow = {
    ...manifest,
    metadata: isJsonObject(written.metadata) ? metadata : written.metadata,
    spec: isJsonObject(written.spec) ? withSpec(written.spec, options, given) : written.spec,
  };
  const namespace = String(metadata["namespace"] ?? context.namespace);
  return await context.client.call("WorkflowService_CreateWorkflow", {
    params: { namespace },
    body: {
      namespace,
      workflow: workflow as unknown as Workflow,
      serverDryRun: options.serverDryRun,
      createOptions: options.dryRun ? { dryRun: ["All"] } : undefined,
    },
    idempotencyKey: options.idempotencyKey,
  });
}

async function submit(context: Context, files: string[], options: SubmitOptions): Promise<number> {
  const { from, output } = options;
  // Before anything is created.
  await requireLook(options);
  if (from !== undefined && files.length > 0) {
    throw new UsageError("Give files or --from, not both");
  }
  const created: Workflow[] = [];
  const creating = from === undefined
    ? submitFiles(context, files, options)
    : [await submitFrom(context, from, options)];
  for await (const workflow of creating) {
    created.push(workflow);
    if (options.watch && output === undefined) continue;
    await printWorkflow(context, workflow, output);
  }
  if (options.dryRun || options.serverDryRun) return 0;
  const made = created.map(({ metadata }) => ({
    namespace: metadata.namespace ?? context.namespace,
    name: metadata.name ?? "",
  }));
  return await followAll(context, made, options, output === "name");
}

/** Registers `submit`. */
export function addSubmitCommand(program: Command, exit: (status: number) => void): void {
  const command = program.command("submit [files...]").description(
    "create workflows from files, - or URLs, or --from a stored template",
  );
  addOverrides(command)
    .option("--annotations <a=b,...>", "annotations to add")
    .option(
      "--priority <number>",
      "workflows with a higher priority go first",
      wholeNumber("--priority"),
    )
    .option("--pod-priority-class-name <name>", "priority class of the steps' pods")
    .option(
      "--from <kind/name>",
      "workflowtemplate/NAME, clusterworkflowtemplate/NAME or cronwf/NAME",
    )
    .option("--scheduled-time <time>", "value of {{workflow.scheduledTime}} (RFC 3339)")
    .addOption(
      new Option("--dry-run", "validate and show, store nothing").conflicts("serverDryRun"),
    )
    .option("--server-dry-run", "as --dry-run, with what the server adds");
  addStrict(command)
    .option(
      "--idempotency-key <key>",
      "requests with the same key and manifest create one workflow",
    )
    .option("--status <phase>", "with --watch: only nodes of this phase")
    .option("--node-field-selector <terms>", "with --watch: only nodes that match");
  addFollowing(command)
    .addOption(outputOption("name", "json", "yaml", "wide", "short"))
    .addHelpText(...example(
      "sluice submit examples/async-job.yaml -p jobs=http://127.0.0.1:8099/jobs --watch",
      "sluice submit --from workflowtemplate/build -p branch=main -o name",
    ))
    .action(async (files: string[], options: SubmitOptions, command: Command) =>
      exit(await submit(contextOf(command), files, options))
    );
}
