/**
 * The one catalogue of template variables: what each is called, what it holds and where it may be used. Validation
 * builds its scopes from it; documentation is generated from it.
 */

/** Part of a manifest in which a variable can be used. */
export type VariableScope =
  /** Everywhere in a workflow. */
  | "workflow"
  /** Everywhere, but filled only when the workflow ends: exit handlers and workflow hooks. */
  | "exit"
  /** Inside the template that declares it. */
  | "template"
  /** Templates that run as a task on an executor. */
  | "pod"
  /** Later steps of a steps template. */
  | "steps"
  /** Tasks of a dag that come after the one named. */
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

/** One row of the catalogue. */
export interface Variable {
  /** Full name; a part in `<>` stands for a name the user chose. */
  name: string;
  type: VariableType;
  scope: VariableScope;
  /** One line for the documentation. */
  meaning: string;
}

function row(
  scope: VariableScope,
  name: string,
  meaning: string,
  type: VariableType = "text",
): Variable {
  return { name, type, scope, meaning };
}

/** Members of a step or task that has run, which later ones may refer to. */
export const NODE_MEMBERS = ["id", "startedAt", "finishedAt", "hostNodeName"] as const;

/** What is known about the attempt before the present one. */
export const RETRY_VARIABLES = [
  "retries",
  "lastRetry.exitCode",
  "lastRetry.status",
  "lastRetry.duration",
  "lastRetry.message",
] as const;

function nodeRows(scope: "steps" | "tasks"): Variable[] {
  const prefix = `${scope}.<name>`;
  return [
    row(scope, `${prefix}.id`, "Id of its node"),
    row(scope, `${prefix}.ip`, "Address of a daemon"),
    row(scope, `${prefix}.status`, "Phase of its node"),
    row(scope, `${prefix}.startedAt`, "When it started", "time"),
    row(scope, `${prefix}.finishedAt`, "When it ended", "time"),
    row(scope, `${prefix}.hostNodeName`, "Machine it ran on"),
    row(scope, `${prefix}.exitCode`, "Exit code of its main container"),
    row(scope, `${prefix}.outputs.result`, "Its standard output, a loop's as a JSON list"),
    row(scope, `${prefix}.outputs.parameters.<name>`, "An output parameter"),
    row(scope, `${prefix}.outputs.parameters`, "Parameters of all elements of a loop", "JSON"),
    row(scope, `${prefix}.outputs.artifacts.<name>`, "An output artifact", "artifact"),
  ];
}

export const VARIABLES: readonly Variable[] = [
  row("workflow", "workflow.name", "Name of the workflow"),
  row("workflow", "workflow.namespace", "Its namespace"),
  row("workflow", "workflow.mainEntrypoint", "The entrypoint it started with"),
  row("workflow", "workflow.serviceAccountName", "Identity its tasks run with"),
  row("workflow", "workflow.uid", "Unique id"),
  row("workflow", "workflow.parameters.<name>", "An argument of the workflow"),
  row("workflow", "workflow.parameters", "All arguments", "JSON"),
  row("workflow", "workflow.parameters.json", "All arguments", "JSON"),
  row("workflow", "workflow.annotations.<key>", "An annotation"),
  row("workflow", "workflow.annotations", "All annotations", "JSON"),
  row("workflow", "workflow.annotations.json", "All annotations", "JSON"),
  row("workflow", "workflow.labels.<key>", "A label"),
  row("workflow", "workflow.labels", "All labels", "JSON"),
  row("workflow", "workflow.labels.json", "All labels", "JSON"),
  row("workflow", "workflow.creationTimestamp", "When it was created, RFC 3339", "time"),
  row("workflow", "workflow.creationTimestamp.RFC3339", "When it was created", "time"),
  row("workflow", "workflow.creationTimestamp.s", "Seconds since 1970", "number"),
  row("workflow", "workflow.creationTimestamp.<letter>", "One part, by strftime letter"),
  row("workflow", "workflow.scheduledTime", "When a cron workflow was due", "time"),
  row("workflow", "workflow.duration", "Seconds since the start", "number"),
  row("workflow", "workflow.priority", "Priority, where one is set", "number"),
  row("workflow", "workflow.outputs.parameters.<name>", "A global output parameter"),
  row("workflow", "workflow.outputs.artifacts.<name>", "A global output artifact", "artifact"),
  row("exit", "workflow.status", "Phase of the workflow"),
  row("exit", "workflow.failures", "Nodes that failed", "JSON"),
  row("template", "inputs.parameters.<name>", "An input parameter"),
  row("template", "inputs.parameters", "All input parameters", "JSON"),
  row("template", "inputs.artifacts.<name>", "An input artifact", "artifact"),
  row("template", "inputs.artifacts.<name>.path", "Where it is put"),
  row("pod", "outputs.parameters.<name>.path", "File that becomes the parameter"),
  row("pod", "outputs.artifacts.<name>.path", "Where the artifact is taken from"),
  row("pod", "pod.name", "Name of the task"),
  row("template", "node.name", "Full name of the node"),
  row("steps", "steps.name", "Name of the step"),
  row("tasks", "tasks.name", "Name of the task"),
  ...nodeRows("steps"),
  ...nodeRows("tasks"),
  row("loop", "item", "The element"),
  row("loop", "item.<key>", "A member of an element that is a map"),
  row("retry", "retries", "Number of the attempt, from 0", "number"),
  row("retry", "lastRetry.exitCode", "Exit code of the attempt before"),
  row("retry", "lastRetry.status", "Phase of the attempt before"),
  row("retry", "lastRetry.duration", "Seconds the attempt before took", "number"),
  row("retry", "lastRetry.message", "Message of the attempt before"),
  row("metrics", "status", "Phase of the node"),
  row("metrics", "duration", "Seconds the node took", "number"),
  row("metrics", "exitCode", "Exit code of its main container"),
  row("metrics", "outputs.result", "Standard output"),
  row("metrics", "outputs.parameters.<name>", "An output parameter of the template"),
  row("metrics", "resourcesDuration.cpu", "CPU seconds requested", "number"),
  row("metrics", "resourcesDuration.memory", "Memory seconds requested", "number"),
  row("http", "request.method", "Method sent"),
  row("http", "request.url", "Address asked"),
  row("http", "request.body", "Body sent"),
  row("http", "request.headers", "Headers sent", "JSON"),
  row("http", "response.statusCode", "Status answered", "number"),
  row("http", "response.body", "Body answered"),
  row("http", "response.headers", "Headers answered", "JSON"),
  row("cron", "cronworkflow.name", "Name of the cron workflow"),
  row("cron", "cronworkflow.namespace", "Its namespace"),
  row("cron", "cronworkflow.labels.<key>", "A label"),
  row("cron", "cronworkflow.labels.json", "All labels", "JSON"),
  row("cron", "cronworkflow.annotations.<key>", "An annotation"),
  row("cron", "cronworkflow.annotations.json", "All annotations", "JSON"),
  row("cron", "cronworkflow.lastScheduledTime", "When it was last due", "time"),
  row("cron", "cronworkflow.failed", "Workflows of it that failed", "number"),
  row("cron", "cronworkflow.succeeded", "Workflows of it that succeeded", "number"),
  row("data", "data", "Paths found at the source", "list"),
];

/** First parts of names that are ours; a tag that starts otherwise belongs to some other system and is left alone. */
const CHECKED_PREFIXES = ["item.", "steps.", "inputs.", "outputs.", "pod.", "workflow.", "tasks."];

/** Tells whether a tag is checked at all. */
export function isCheckedVariable(name: string): boolean {
  return CHECKED_PREFIXES.some((prefix) => name.startsWith(prefix));
}

/**
 * Names that are filled in only at run time, so that validation lets them pass: own outputs (in metrics), times of the
 * workflow, names of nodes.
 */
const RUN_TIME_PREFIXES = [
  "outputs.",
  "workflow.creationTimestamp",
  "workflow.scheduledTime",
  "workflow.duration",
  "tasks.name",
  "steps.name",
  "node.name",
];

/** Tells whether validation must let the name pass. */
export function isRunTimeVariable(name: string): boolean {
  return RUN_TIME_PREFIXES.some((prefix) => name.startsWith(prefix));
}

/** Workflow variables that are always there, before any argument, label or annotation is looked at. */
export const ALWAYS_KNOWN: readonly string[] = [
  "workflow.name",
  "workflow.namespace",
  "workflow.mainEntrypoint",
  "workflow.serviceAccountName",
  "workflow.uid",
  "workflow.annotations",
  "workflow.annotations.json",
  "workflow.labels",
  "workflow.labels.json",
  "workflow.status",
];
