/**
 * The one catalogue of template variables: what each is called, what it holds and where it may be used. Validation
 * builds its scopes from it; documentation is generated from it.
 */

/** The part of a manifest in which a variable can be used. */
export type VariableScope =
  /** Everywhere in a workflow. */
  | "workflow"
  /** Everywhere, but with a value only when the workflow ends: exit handlers and workflow hooks. */
  | "exit"
  /** Inside the template that declares it. */
  | "template"
  /** Templates that run as a task on an executor. */
  | "pod"
  /** Later steps of a steps template. */
  | "steps"
  /** Tasks of a dag that come after the named one. */
  | "tasks"
  /** The looping step or task itself. */
  | "loop"
  /** A template with a retry strategy, and its expression. */
  | "retry"
  /** Metrics of a template. */
  | "metrics"
  /** `successCondition` of http templates; expressions only. */
  | "http"
  /** `when` and `stopStrategy` of cron workflows. */
  | "cron"
  /** Transformations of data templates; expressions only. */
  | "data";

/** What a variable holds. */
export type VariableType = "text" | "number" | "time" | "JSON" | "artifact" | "list";

/** When the name of a variable is known to the checks of a manifest. */
export type VariablePresence =
  /** Wherever its scope reaches. */
  | "always"
  /** Only at run time, so the checks accept any such name. */
  | "runTime"
  /** If something in the manifest provides it: a declaration, a kind of template, a setting. */
  | "declared";

/** One row of the catalogue. */
export interface Variable {
  /** Full name; a part in `<>` stands for a name that the user chose. */
  name: string;
  type: VariableType;
  scope: VariableScope;
  presence: VariablePresence;
  /** One line for the documentation. */
  meaning: string;
}

function rows(
  scope: VariableScope,
  presence: VariablePresence,
  table: readonly (readonly [name: string, meaning: string, type?: VariableType])[],
): Variable[] {
  return table.map(([name, meaning, type = "text"]) => ({ name, type, scope, presence, meaning }));
}

function nodeRows(scope: "steps" | "tasks"): Variable[] {
  const prefix = `${scope}.<name>`;
  const anyStep = "also of a step that comes later";
  return [
    ...rows(scope, "always", [
      [`${prefix}.id`, "Id of its node"],
      [`${prefix}.startedAt`, "When it started", "time"],
      [`${prefix}.finishedAt`, "When it ended", "time"],
      [`${prefix}.hostNodeName`, "Machine it ran on"],
    ]),
    ...rows(scope, "declared", [
      [`${prefix}.ip`, "Address of a daemon"],
      [`${prefix}.status`, "Phase of its node"],
      [`${prefix}.exitCode`, "Exit code of its main container"],
      [`${prefix}.outputs.result`, "Its standard output, a loop's as a JSON list"],
      [`${prefix}.outputs.parameters.<name>`, "An output parameter"],
      [`${prefix}.outputs.parameters`, "Parameters of all elements of a loop", "JSON"],
      [`${prefix}.outputs.artifacts.<name>`, "An output artifact", "artifact"],
      [`${prefix}.callback.resume`, `URL that ends its wait; ${anyStep}`],
      [`${prefix}.callback.stop`, `URL that fails its wait; ${anyStep}`],
      [`${prefix}.callback.heartbeat`, `URL that restarts its timeout; ${anyStep}`],
      [`${prefix}.callback.token`, `One token for all three URLs; ${anyStep}`],
    ]),
  ];
}

export const VARIABLES: readonly Variable[] = [
  ...rows("workflow", "always", [
    ["workflow.name", "Name of the workflow"],
    ["workflow.namespace", "Its namespace"],
    ["workflow.mainEntrypoint", "The entrypoint it started with"],
    ["workflow.serviceAccountName", "Identity its tasks run with"],
    ["workflow.uid", "Unique id"],
    ["workflow.annotations", "All annotations", "JSON"],
    ["workflow.annotations.json", "All annotations", "JSON"],
    ["workflow.labels", "All labels", "JSON"],
    ["workflow.labels.json", "All labels", "JSON"],
  ]),
  ...rows("workflow", "declared", [
    ["workflow.parameters.<name>", "An argument of the workflow"],
    ["workflow.parameters", "All arguments", "JSON"],
    ["workflow.parameters.json", "All arguments", "JSON"],
    ["workflow.annotations.<key>", "An annotation"],
    ["workflow.labels.<key>", "A label"],
    ["workflow.priority", "Priority, where one is set", "number"],
    ["workflow.outputs.parameters.<name>", "A global output parameter"],
    ["workflow.outputs.artifacts.<name>", "A global output artifact", "artifact"],
  ]),
  ...rows("workflow", "runTime", [
    ["workflow.creationTimestamp", "When it was created, RFC 3339", "time"],
    ["workflow.creationTimestamp.RFC3339", "When it was created", "time"],
    ["workflow.creationTimestamp.s", "Seconds since 1970", "number"],
    ["workflow.creationTimestamp.<letter>", "One part, by strftime letter"],
    ["workflow.scheduledTime", "When a cron workflow was due", "time"],
    ["workflow.duration", "Seconds since the start", "number"],
  ]),
  ...rows("exit", "always", [[
    "workflow.status",
    "Phase of the workflow; in hooks of steps `Running`",
  ]]),
  ...rows("exit", "declared", [["workflow.failures", "Nodes that failed", "JSON"]]),
  ...rows("template", "declared", [
    ["inputs.parameters.<name>", "An input parameter"],
    ["inputs.parameters", "All input parameters", "JSON"],
    ["inputs.artifacts.<name>", "An input artifact", "artifact"],
    ["inputs.artifacts.<name>.path", "Where it is put"],
  ]),
  ...rows("template", "runTime", [["node.name", "Full name of the node"]]),
  ...rows("pod", "declared", [
    ["pod.name", "Name of the task"],
    ["outputs.parameters.<name>.path", "File that becomes the parameter"],
    ["outputs.artifacts.<name>.path", "Where the artifact is taken from"],
  ]),
  ...rows("steps", "runTime", [["steps.name", "Name of the step"]]),
  ...nodeRows("steps"),
  ...rows("tasks", "runTime", [["tasks.name", "Name of the task"]]),
  ...nodeRows("tasks"),
  ...rows("loop", "declared", [
    ["item", "The element"],
    ["item.<key>", "A member of an element that is a map"],
  ]),
  ...rows("retry", "always", [
    ["retries", "Number of the attempt, from 0", "number"],
    ["lastRetry.exitCode", "Exit code of the attempt before"],
    ["lastRetry.status", "Phase of the attempt before"],
    ["lastRetry.duration", "Seconds the attempt before took", "number"],
    ["lastRetry.message", "Message of the attempt before"],
  ]),
  ...rows("metrics", "always", [
    ["status", "Phase of the node"],
    ["duration", "Seconds the node took", "number"],
    ["exitCode", "Exit code of its main container"],
    ["resourcesDuration.cpu", "CPU seconds requested", "number"],
    ["resourcesDuration.memory", "Memory seconds requested", "number"],
  ]),
  ...rows("metrics", "runTime", [
    ["outputs.result", "Standard output"],
    ["outputs.parameters.<name>", "An output parameter of the template"],
  ]),
  ...rows("http", "always", [
    ["request.method", "Method sent"],
    ["request.url", "Address of the request"],
    ["request.body", "Body sent"],
    ["request.headers", "Headers sent", "JSON"],
    ["response.statusCode", "Status of the answer", "number"],
    ["response.body", "Body of the answer"],
    ["response.headers", "Headers of the answer", "JSON"],
  ]),
  ...rows("cron", "always", [
    ["cronworkflow.name", "Name of the cron workflow"],
    ["cronworkflow.namespace", "Its namespace"],
    ["cronworkflow.labels.<key>", "A label"],
    ["cronworkflow.labels.json", "All labels", "JSON"],
    ["cronworkflow.annotations.<key>", "An annotation"],
    ["cronworkflow.annotations.json", "All annotations", "JSON"],
    ["cronworkflow.lastScheduledTime", "When it was last due", "time"],
    ["cronworkflow.failed", "Workflows of it that failed", "number"],
    ["cronworkflow.succeeded", "Workflows of it that succeeded", "number"],
  ]),
  ...rows("data", "always", [["data", "Paths found at the source", "list"]]),
];

function namesOf(presence: VariablePresence, ...scopes: VariableScope[]): string[] {
  return VARIABLES.filter((row) => row.presence === presence && scopes.includes(row.scope))
    .map(({ name }) => name);
}

/** Workflow variables that always exist, whatever the arguments, labels and annotations. */
export const ALWAYS_KNOWN: readonly string[] = namesOf("always", "workflow", "exit");

/** What is known about the previous attempt. */
export const RETRY_VARIABLES: readonly string[] = namesOf("always", "retry");

/** Members of every step or task that has run: `id`, `startedAt` … */
export const NODE_MEMBERS: readonly string[] = namesOf("always", "steps").map((name) =>
  name.slice("steps.<name>.".length)
);

/** Prefixes of names that the checks must accept; `outputs.` are a template's own outputs, in its metrics. */
const RUN_TIME_PREFIXES = [
  ...namesOf("runTime", "workflow", "template", "steps", "tasks"),
  "outputs.",
];

/** Tells whether the checks must accept a name. */
export function isRunTimeVariable(name: string): boolean {
  return RUN_TIME_PREFIXES.some((prefix) => name.startsWith(prefix));
}

/** First parts of our own names. A tag that starts with anything else belongs to another system and is left alone. */
const CHECKED_PREFIXES = ["item.", "steps.", "inputs.", "outputs.", "pod.", "workflow.", "tasks."];

/** Tells whether a tag is checked at all. */
export function isCheckedVariable(name: string): boolean {
  return CHECKED_PREFIXES.some((prefix) => name.startsWith(prefix));
}
