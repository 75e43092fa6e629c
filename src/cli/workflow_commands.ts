/** Verbs on workflows: submit, list, get, wait, watch, logs, suspend, resume, stop, terminate, retry, resubmit, set, delete. */
import type { Command } from "commander";
import { isJsonObject, type Json, type JsonObject } from "../base/json.ts";
import type { Workflow } from "../spec/manifest.ts";
import type { Input } from "../client/client.ts";
import { ClientError } from "../client/transport.ts";
import {
  collect,
  type Context,
  contextOf,
  outputOption,
  type OutputOptions,
  pairs,
  readManifests,
  readSource,
  UsageError,
  withParameters,
} from "./context.ts";
import { hasColour, print, printObject, printWorkflows, say, workflowText } from "./output.ts";

const FINISHED = new Set(["Succeeded", "Failed", "Error"]);
const LABELS = "workflows.argoproj.io";

/** Follows one workflow until it is finished; calls `show` with every state. A broken stream is taken up again. */
async function follow(
  context: Context,
  namespace: string,
  name: string,
  show: (workflow: Workflow) => void,
): Promise<Workflow> {
  const query = {
    "listOptions.fieldSelector": `metadata.name=${name}`,
    "listOptions.resourceVersion": "0",
  };
  for (let pause = 100;; pause = Math.min(pause * 2, 5000)) {
    try {
      for await (
        const { type, object: workflow } of context.client.stream(
          "WorkflowService_WatchWorkflows",
          { params: { namespace }, query },
        )
      ) {
        pause = 100;
        if (type === "DELETED") throw new Error(`Workflow ${name} was deleted`);
        show(workflow);
        if (FINISHED.has(workflow.status?.phase ?? "") && workflow.status?.finishedAt) {
          return workflow;
        }
      }
    } catch (error) {
      const gone = error instanceof ClientError && error.status >= 400 && error.status < 500;
      if (gone || !(error instanceof ClientError || error instanceof TypeError)) throw error;
      say(`${error.message}; trying again`);
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** Waits and returns the exit status: 0 when it Succeeded, 1 otherwise. */
async function waitFor(
  context: Context,
  namespace: string,
  name: string,
  quiet: boolean,
): Promise<number> {
  const done = await follow(context, namespace, name, () => {});
  const phase = done.status?.phase ?? "";
  if (!quiet) say(`${name} ${phase}${done.status?.message ? `: ${done.status.message}` : ""}`);
  return phase === "Succeeded" ? 0 : 1;
}

/** Redraws the tree on a terminal; elsewhere prints a line for every change of a node. */
async function watchLive(context: Context, namespace: string, name: string): Promise<number> {
  const live = process.stdout.isTTY === true;
  const seen = new Map<string, string>();
  const done = await follow(context, namespace, name, (workflow) => {
    if (live) {
      print(`\u001b[2J\u001b[H${workflowText(workflow, context.now(), hasColour())}`);
      return;
    }
    for (const node of Object.values(workflow.status?.nodes ?? {})) {
      const state = `${node.phase}${node.message ? `: ${node.message}` : ""}`;
      if (node.type === "StepGroup" || seen.get(node.id) === state) continue;
      seen.set(node.id, state);
      print(`${node.name}  ${state}`);
    }
  });
  if (!live) print(workflowText(done, context.now(), false));
  return done.status?.phase === "Succeeded" ? 0 : 1;
}

/** Names given, or all workflows that the list options select. */
async function selected(
  context: Context,
  names: string[],
  options: { selector?: string; fieldSelector?: string; all?: boolean },
): Promise<{ namespace: string; name: string }[]> {
  if (names.length > 0) return names.map((name) => ({ namespace: context.namespace, name }));
  if (!options.selector && !options.fieldSelector && !options.all) {
    throw new UsageError("Name a workflow, or choose some with --selector or --field-selector");
  }
  const items = await listWorkflows(context, context.namespace, {
    "listOptions.labelSelector": options.selector,
    "listOptions.fieldSelector": options.fieldSelector,
    fields: "metadata,items.metadata",
  });
  return items.map((item) => ({
    namespace: item.metadata.namespace ?? context.namespace,
    name: item.metadata.name ?? "",
  }));
}

type ListQuery = NonNullable<Input<"WorkflowService_ListWorkflows">["query"]>;

/** All pages of a list. */
async function listWorkflows(
  context: Context,
  namespace: string,
  query: ListQuery,
): Promise<Workflow[]> {
  const items: Workflow[] = [];
  let next: string | undefined;
  do {
    const page = await context.client.call("WorkflowService_ListWorkflows", {
      params: { namespace },
      query: { ...query, "listOptions.continue": next },
    });
    items.push(...page.items ?? []);
    next = query["listOptions.limit"] === undefined ? undefined : page.metadata.continue;
  } while (next !== undefined && next !== "");
  return items;
}

interface SubmitOptions extends OutputOptions {
  parameter?: string[];
  parameterFile?: string;
  name?: string;
  generateName?: string;
  labels?: string;
  entrypoint?: string;
  serviceaccount?: string;
  priority?: string;
  from?: string;
  wait?: boolean;
  watch?: boolean;
  log?: boolean;
  dryRun?: boolean;
  serverDryRun?: boolean;
  idempotencyKey?: string;
}

async function parametersOf(options: SubmitOptions): Promise<Map<string, string>> {
  const given = pairs(options.parameter, "a parameter");
  if (options.parameterFile === undefined) return given;
  const { parse } = await import("yaml");
  const file: unknown = parse(await readSource(options.parameterFile));
  if (!isJsonObject(file)) {
    throw new UsageError(`${options.parameterFile} does not hold names and values`);
  }
  const texts = Object.entries(file).map((
    [name, value],
  ): [string, string] => [name, typeof value === "string" ? value : JSON.stringify(value)]);
  return new Map([...texts, ...given]);
}

function withOptions(
  manifest: JsonObject,
  options: SubmitOptions,
  given: Map<string, string>,
): JsonObject {
  const metadata = { ...(manifest["metadata"] as JsonObject | undefined ?? {}) };
  if (options.name !== undefined) metadata["name"] = options.name;
  if (options.generateName !== undefined) metadata["generateName"] = options.generateName;
  if (options.labels !== undefined) {
    metadata["labels"] = {
      ...(metadata["labels"] as JsonObject ?? {}),
      ...Object.fromEntries(pairs(options.labels.split(","), "labels")),
    };
  }
  const spec = { ...withParameters(manifest["spec"] as JsonObject ?? {}, given) };
  if (options.entrypoint !== undefined) spec["entrypoint"] = options.entrypoint;
  if (options.serviceaccount !== undefined) spec["serviceAccountName"] = options.serviceaccount;
  if (options.priority !== undefined) spec["priority"] = Number(options.priority);
  return { ...manifest, metadata, spec };
}

async function submit(context: Context, files: string[], options: SubmitOptions): Promise<number> {
  const given = await parametersOf(options);
  const created: Workflow[] = [];
  const key = options.idempotencyKey === undefined
    ? {}
    : { idempotencyKey: options.idempotencyKey };
  if (options.from !== undefined) {
    const [kind, name] = options.from.split("/");
    if (!kind || !name) {
      throw new UsageError(
        `--from takes KIND/NAME, for example workflowtemplate/build; received ${options.from}`,
      );
    }
    const submitOptions = {
      name: options.name,
      generateName: options.generateName,
      entryPoint: options.entrypoint,
      parameters: [...given].map(([key, value]) => `${key}=${value}`),
      serviceAccount: options.serviceaccount,
      dryRun: options.dryRun,
      serverDryRun: options.serverDryRun,
      labels: options.labels,
      priority: options.priority === undefined ? undefined : Number(options.priority),
    };
    created.push(
      await context.client.call("WorkflowService_SubmitWorkflow", {
        params: { namespace: context.namespace },
        body: {
          namespace: context.namespace,
          resourceKind: kind,
          resourceName: name,
          submitOptions,
        },
        ...key,
      }),
    );
  } else {
    for (const manifest of await readManifests(files)) {
      if (manifest["kind"] !== undefined && manifest["kind"] !== "Workflow") {
        throw new UsageError(
          `submit takes Workflows, ${files.join(", ")} holds a ${
            manifest["kind"]
          }; use "sluice apply -f" for it`,
        );
      }
      const workflow = withOptions(manifest, options, given);
      const namespace = String(
        (workflow["metadata"] as JsonObject)["namespace"] ?? context.namespace,
      );
      created.push(
        await context.client.call("WorkflowService_CreateWorkflow", {
          params: { namespace },
          body: {
            namespace,
            workflow: workflow as unknown as Workflow,
            serverDryRun: options.serverDryRun,
            createOptions: options.dryRun ? { dryRun: ["All"] } : undefined,
          },
          ...key,
        }),
      );
    }
  }
  let status = 0;
  for (const workflow of created) {
    const name = workflow.metadata.name ?? "";
    const namespace = workflow.metadata.namespace ?? context.namespace;
    if (options.output === "json" || options.output === "yaml") {
      printObject(workflow as unknown as Json, options.output);
    } else if (options.output === "name") print(name);
    else if (!options.watch) print(workflowText(workflow, context.now(), hasColour()));
    if (options.dryRun || options.serverDryRun) continue;
    if (options.log) await logs(context, namespace, name, { follow: true });
    if (options.watch) status = Math.max(status, await watchLive(context, namespace, name));
    else if (options.wait || options.log) {
      status = Math.max(status, await waitFor(context, namespace, name, options.output === "name"));
    }
  }
  return status;
}

interface LogOptions {
  follow?: boolean;
  container?: string;
  tail?: string;
  since?: string;
  grep?: string;
  timestamps?: boolean;
}

async function logs(
  context: Context,
  namespace: string,
  name: string,
  options: LogOptions & { pod?: string },
): Promise<void> {
  const number = (text: string | undefined) => text === undefined ? undefined : Number(text);
  const query = {
    "logOptions.container": options.container ?? "main",
    "logOptions.follow": options.follow,
    "logOptions.tailLines": number(options.tail),
    "logOptions.sinceSeconds": number(options.since),
    "logOptions.timestamps": options.timestamps,
    grep: options.grep,
    podName: options.pod,
  };
  const lines = context.client.stream("WorkflowService_WorkflowLogs", {
    params: { namespace, name },
    query,
  });
  for await (const { podName, content = "" } of lines) print(`${podName}: ${content}`);
}

interface ControlOptions extends OutputOptions {
  nodeFieldSelector?: string;
  message?: string;
  restartSuccessful?: boolean;
  parameter?: string[];
  selector?: string;
  fieldSelector?: string;
  memoized?: boolean;
  wait?: boolean;
  watch?: boolean;
  phase?: string;
  outputParameter?: string[];
  idempotencyKey?: string;
}

/** Operation of each verb, and what became of the workflow. */
const VERBS = {
  suspend: { operation: "WorkflowService_SuspendWorkflow", done: "suspended" },
  resume: { operation: "WorkflowService_ResumeWorkflow", done: "resumed" },
  stop: { operation: "WorkflowService_StopWorkflow", done: "stopped" },
  terminate: { operation: "WorkflowService_TerminateWorkflow", done: "terminated" },
  retry: { operation: "WorkflowService_RetryWorkflow", done: "retried" },
  resubmit: { operation: "WorkflowService_ResubmitWorkflow", done: "resubmitted" },
  set: { operation: "WorkflowService_SetWorkflow", done: "set" },
} as const;
type Verb = keyof typeof VERBS;

/** Sends one verb to each selected workflow and says what became of it. */
async function control(
  context: Context,
  verb: Verb,
  names: string[],
  options: ControlOptions,
): Promise<number> {
  let status = 0;
  const { operation, done } = VERBS[verb];
  const outputParameters = options.outputParameter === undefined
    ? undefined
    : JSON.stringify(Object.fromEntries(pairs(options.outputParameter, "an output parameter")));
  for (const { namespace, name } of await selected(context, names, options)) {
    const answer = await context.client.call(operation, {
      params: { namespace, name },
      body: {
        namespace,
        name,
        nodeFieldSelector: options.nodeFieldSelector,
        message: options.message,
        restartSuccessful: options.restartSuccessful,
        memoized: options.memoized,
        parameters: options.parameter,
        phase: options.phase,
        outputParameters,
      },
      idempotencyKey: options.idempotencyKey,
    });
    const after = answer.metadata.name ?? name;
    if (options.output === "json" || options.output === "yaml") {
      printObject(answer as unknown as Json, options.output);
    } else if (options.output === "name") print(after);
    else print(`workflow ${after} ${done}`);
    if (options.watch) status = Math.max(status, await watchLive(context, namespace, after));
    else if (options.wait) {
      status = Math.max(status, await waitFor(context, namespace, after, false));
    }
  }
  return status;
}

/** Registers the workflow verbs. `exit` receives the exit status of a command that ran. */
export function addWorkflowCommands(program: Command, exit: (status: number) => void): void {
  program.command("submit [files...]").description(
    "create workflows from files, - or URLs, or --from a template",
  )
    .option("-p, --parameter <name=value>", "set an argument", collect)
    .option("-f, --parameter-file <file>", "YAML or JSON file of arguments")
    .option(
      "--from <kind/name>",
      "workflowtemplate/NAME, clusterworkflowtemplate/NAME or cronworkflow/NAME",
    )
    .option("--name <name>").option("--generate-name <prefix>").option("-l, --labels <a=b,...>")
    .option("--entrypoint <template>").option("--serviceaccount <name>").option(
      "--priority <number>",
    )
    .option("-w, --wait", "wait until it is finished; exit status 1 when it failed")
    .option("--watch", "follow it live").option("--log", "print its logs until it is finished")
    .option("--dry-run", "validate and show, store nothing").option(
      "--server-dry-run",
      "as --dry-run, with generated names",
    )
    .option("--idempotency-key <key>", "the same key and manifest make one workflow")
    .addOption(outputOption())
    .action(async (files: string[], options: SubmitOptions, command: Command) =>
      exit(await submit(contextOf(command), files, options))
    );

  program.command("list").alias("ls").description("list workflows")
    .option("-A, --all-namespaces").option("-l, --selector <labels>").option(
      "--field-selector <terms>",
    )
    .option("--status <phases>", "comma separated phases").option("--running").option("--completed")
    .option("--prefix <text>", "names that start with it").option("--limit <number>").option(
      "--chunk-size <number>",
    )
    .addOption(outputOption())
    .action(
      async (
        options: OutputOptions & Record<string, string | boolean | undefined>,
        command: Command,
      ) => {
        const context = contextOf(command);
        const labels = [
          options["selector"],
          options["running"] ? `${LABELS}/completed!=true` : undefined,
          options["completed"] ? `${LABELS}/completed=true` : undefined,
          options["status"] ? `${LABELS}/phase in (${options["status"]})` : undefined,
        ].filter((term) => term !== undefined).join(",");
        const pageSize = options["limit"] ?? options["chunkSize"];
        const query: ListQuery = {
          "listOptions.labelSelector": labels || undefined,
          "listOptions.fieldSelector": options["fieldSelector"] as string | undefined,
          "listOptions.limit": pageSize === undefined ? undefined : Number(pageSize),
          fields: options.output === undefined
            ? "metadata,items.metadata,items.spec.suspend,items.status.phase,items.status.message,items.status.finishedAt,items.status.startedAt,items.status.progress"
            : undefined,
        };
        let items = await listWorkflows(
          context,
          options["allNamespaces"] ? "" : context.namespace,
          query,
        );
        if (options["prefix"]) {
          items = items.filter((item) => item.metadata.name?.startsWith(String(options["prefix"])));
        }
        if (options["limit"] !== undefined) items = items.slice(0, Number(options["limit"]));
        if (items.length === 0 && options.output === undefined) say("No workflows found");
        else printWorkflows(items, options.output, context.now());
      },
    );

  program.command("get <names...>").description(
    "show workflows: facts, parameters and the tree of nodes",
  )
    .addOption(outputOption())
    .action(async (names: string[], options: OutputOptions, command: Command) => {
      const context = contextOf(command);
      for (const name of names) {
        const workflow = await context.client.call("WorkflowService_GetWorkflow", {
          params: { namespace: context.namespace, name },
        });
        if (options.output === "json" || options.output === "yaml") {
          printObject(workflow as unknown as Json, options.output);
        } else if (options.output === "name") print(workflow.metadata.name ?? "");
        else print(workflowText(workflow, context.now(), hasColour()));
      }
    });

  program.command("wait <names...>").description(
    "wait until workflows are finished; exit status 1 when one failed",
  )
    .option("--ignore-not-found")
    .action(async (names: string[], options: { ignoreNotFound?: boolean }, command: Command) => {
      const context = contextOf(command);
      const statuses = await Promise.all(names.map(async (name) => {
        try {
          return await waitFor(context, context.namespace, name, false);
        } catch (error) {
          if (options.ignoreNotFound && error instanceof ClientError && error.status === 404) {
            return 0;
          }
          throw error;
        }
      }));
      exit(Math.max(...statuses));
    });

  program.command("watch <name>").description("follow a workflow live")
    .action(async (name: string, _options: unknown, command: Command) => {
      const context = contextOf(command);
      exit(await watchLive(context, context.namespace, name));
    });

  program.command("logs <name> [pod]").description("print logs, each line with its pod in front")
    .option("-f, --follow").option("-c, --container <name>").option("--tail <lines>").option(
      "--since <seconds>",
    )
    .option("--grep <regexp>").option("--timestamps")
    .action(
      async (name: string, pod: string | undefined, options: LogOptions, command: Command) => {
        const context = contextOf(command);
        await logs(context, context.namespace, name, {
          ...options,
          ...(pod === undefined ? {} : { pod }),
        });
      },
    );

  const verb = (name: Verb, description: string) =>
    program.command(`${name} [names...]`).description(description)
      .option("-l, --selector <labels>").option("--field-selector <terms>")
      .option("--idempotency-key <key>", "the same key and request have one effect")
      .addOption(outputOption())
      .action(async (names: string[], options: ControlOptions, command: Command) =>
        exit(await control(contextOf(command), name, names, options))
      );

  verb("suspend", "start no new steps until resumed");
  verb("resume", "end waiting suspend steps as succeeded, or go on after suspend")
    .option(
      "--node-field-selector <terms>",
      "only waiting steps that match, for example inputs.parameters.uuid.value=ID",
    );
  verb("stop", "end a workflow (exit handlers run), or with a selector end waiting steps as failed")
    .option("--node-field-selector <terms>", "only waiting steps that match").option(
      "--message <text>",
      "failure message of the steps",
    );
  verb("terminate", "end a workflow at once; exit handlers do not run");
  verb("retry", "run a failed workflow again from where it failed")
    .option("--restart-successful", "also run the selected nodes again, with --node-field-selector")
    .option("--node-field-selector <terms>").option(
      "-p, --parameter <name=value>",
      "replace an argument",
      collect,
    )
    .option("-w, --wait").option("--watch");
  verb("resubmit", "submit a copy of a workflow")
    .option("--memoized", "keep the steps that succeeded").option(
      "-p, --parameter <name=value>",
      "replace an argument",
      collect,
    )
    .option("-w, --wait").option("--watch");

  const node = program.command("node").description("operations on nodes");
  node.command("set <name>").description("set outputs, phase or message of waiting suspend steps")
    .requiredOption("--node-field-selector <terms>").option("--phase <phase>").option(
      "--message <text>",
    )
    .option("--output-parameter <name=value>", "set a supplied output", collect).addOption(
      outputOption(),
    )
    .action(async (name: string, options: ControlOptions, command: Command) =>
      exit(await control(contextOf(command), "set", [name], options))
    );

  program.command("delete [names...]").description("delete workflows")
    .option("--all").option("-l, --selector <labels>").option("--field-selector <terms>").option(
      "--force",
    ).option("--ignore-not-found")
    .action(
      async (
        names: string[],
        options: ControlOptions & { all?: boolean; force?: boolean; ignoreNotFound?: boolean },
        command: Command,
      ) => {
        const context = contextOf(command);
        for (const { namespace, name } of await selected(context, names, options)) {
          try {
            await context.client.call("WorkflowService_DeleteWorkflow", {
              params: { namespace, name },
              query: { force: options.force },
            });
            print(`workflow ${name} deleted`);
          } catch (error) {
            if (!(options.ignoreNotFound && error instanceof ClientError && error.status === 404)) {
              throw error;
            }
            say(error.message);
          }
        }
      },
    );
}
