/** One line of documentation for each member of the structs that authors write most often; editors show it. */

const DOCS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  WorkflowSpec: {
    activeDeadlineSeconds: "Seconds the workflow may run, from its start; 0 ends it",
    archiveLogs: "Keep the logs of every task as an artifact",
    arguments: "Parameters and artifacts of the run, visible as workflow.parameters.*",
    artifactGC: "When artifacts are removed",
    entrypoint: "Template to start with",
    hooks: "Templates to run at events; exit runs at the end",
    metrics: "Metrics of the workflow as a whole",
    onExit: "Template to run at the end, whatever the phase",
    parallelism: "How many tasks may be active at once",
    podGC: "When finished pods are removed",
    podSpecPatch: "Patch of every pod, as YAML or JSON text",
    priority: "Higher ones go first in queues",
    retryStrategy: "Attempts, for templates that say nothing",
    serviceAccountName: "Identity of the tasks",
    shutdown: "Stop (exit handlers run) or Terminate",
    suspend: "Do not go on while this is true",
    synchronization: "Locks the workflow takes",
    templateDefaults: "What every template has unless it says otherwise",
    templates: "What can be run",
    ttlStrategy: "Seconds after which a finished workflow is deleted",
    volumeClaimTemplates: "Volumes made for the run",
    volumes: "Volumes that containers may mount",
    workflowMetadata: "Labels and annotations to put on the workflow",
    workflowTemplateRef: "Stored template to run; templates must then be empty",
  },
  Template: {
    activeDeadlineSeconds: "Seconds the task may run",
    annotations: "Annotations of the node; display-name changes what is shown",
    archiveLocation: "Where logs and artifacts of the task go",
    container: "Run a container",
    containerSet: "Run several containers in one pod, in an order of their own",
    daemon: "Go on when the container is ready, and end it with its group",
    dag: "Run tasks by their dependencies",
    data: "List and transform artifacts of a source",
    failFast: "Start nothing more after a failure",
    http: "Send a request",
    initContainers: "Containers that run first",
    inputs: "What the template takes",
    memoize: "Use the outputs of an earlier run with the same key",
    metadata: "Labels and annotations of the pod",
    metrics: "Metrics of each run of the template",
    name: "Unique name",
    outputs: "What the template gives",
    parallelism: "How many children may be active at once",
    pendingTimeout: "How long the task may wait to start, as a duration",
    plugin: "Have a plugin do it",
    podSpecPatch: "Patch of the pod, as YAML or JSON text",
    resource: "Work on a Kubernetes resource",
    retryStrategy: "When and how often to try again",
    script: "Run a script",
    sidecars: "Containers that run beside the main one",
    steps: "Run groups of steps, one group after the other",
    suspend: "Wait for a time or for someone to resume",
    synchronization: "Locks taken for each run of the template",
    timeout: "How long the node may take, as a duration",
    volumes: "Volumes that the containers may mount",
  },
  WorkflowStep: stepDocs("step"),
  DAGTask: {
    ...stepDocs("task"),
    dependencies: "Tasks that must have succeeded",
    depends: "Condition on the results of other tasks, such as a.Succeeded && !b.Failed",
  },
  DAGTemplate: {
    failFast: "Fail when a branch fails (default); other branches still go on",
    target: "Tasks to run, with what they need; all if empty",
    tasks: "What is run",
  },
  Parameter: {
    default: "Value if none is given",
    description: "For people",
    enum: "Values to choose from",
    globalName: "Name under workflow.outputs.parameters",
    name: "Unique name",
    value: "The value; numbers and booleans are kept as text",
    valueFrom: "Where the value comes from",
  },
  ValueFrom: {
    configMapKeyRef: "Key of a ConfigMap",
    default: "Value if the source is missing",
    event: "Expression over the event",
    expression: "Expression over the outputs of the steps or tasks",
    jqFilter: "jq filter over the resource",
    jsonPath: "JSON path into the resource",
    parameter: "Text with tags",
    path: "File in the container",
    supplied: "Given when the step is resumed",
  },
  Artifact: {
    archive: "How it is packed: none, tar or zip",
    from: "Artifact of a step or task, as a tag",
    fromExpression: "Expression that gives the artifact",
    globalName: "Name under workflow.outputs.artifacts",
    mode: "Permissions of the file",
    name: "Unique name",
    optional: "It may be missing",
    path: "Where it is in the container",
    subPath: "Part of it, below its key",
  },
  LifecycleHook: {
    arguments: "What the template gets",
    expression: "When to run; not needed for exit",
    template: "Template to run",
  },
  RetryStrategy: {
    backoff: "How long to wait between attempts",
    expression: "Whether to try again, over lastRetry and retries",
    limit: "Attempts after the first",
    retryPolicy: "What is tried again: Always, OnFailure, OnError or OnTransientError",
  },
  Backoff: {
    cap: "Longest wait",
    duration: "First wait",
    factor: "By how much each wait is longer than the one before",
    maxDuration: "How long to go on trying",
  },
  SuspendTemplate: {
    callback: "URLs with which another system ends the wait",
    duration: "How long to wait; without it until someone resumes",
  },
  SuspendCallback: {
    expires: "How long a URL is valid, from 1s to 9600h; 24h unless set",
    outputs: "Supplied output parameters that a caller may give; all unless set",
  },
  Sequence: {
    count: "How many numbers",
    end: "Last number",
    format: "How a number is written, such as host-%02d",
    start: "First number",
  },
  CronWorkflowSpec: {
    concurrencyPolicy: "What happens if the previous run is still going: Allow, Forbid or Replace",
    failedJobsHistoryLimit: "Failed workflows to keep",
    schedules: "When to run, as cron expressions",
    startingDeadlineSeconds: "How late a missed run may be",
    stopStrategy: "When never to run again",
    successfulJobsHistoryLimit: "Succeeded workflows to keep",
    suspend: "Do not run while this is true",
    timezone: "Time zone of the schedules, such as Europe/Berlin",
    when: "Condition for each run",
    workflowMetadata: "Labels and annotations of the workflows",
    workflowSpec: "What to run",
  },
  WorkflowEventBindingSpec: {
    event: "Which events",
    resume: "Resume a waiting step",
    stop: "Stop a waiting step as failed",
    submit: "Make a workflow",
  },
  SubscriptionSpec: {
    changes:
      "Changes to report: Started, Suspended, NodeFailed, Succeeded, Failed, DeadLetter; all unless set",
    format: "standard, cloudevents or cloudevents-binary",
    headers: "Headers of each request",
    retryFor: "How long a delivery is tried, such as 24h",
    secret: "Key of a Secret with which deliveries are signed",
    timeout: "How long the receiver may take for one attempt, 1s to 60s; 10s unless set",
    url: "Where deliveries are posted to",
    workflows: "Which workflows; all of the namespace unless set",
  },
  SubscribedWorkflows: {
    expression: "Condition over workflow, change and node",
    labelSelector: "Labels that they have, such as team=data",
    namespaces: "Other namespaces, or *; only where the server's administrator subscribes",
    template: "Workflow template that they are made from",
  },
  Event: { selector: "Expression over payload, metadata, discriminator and namespace" },
};

function stepDocs(what: string): Record<string, string> {
  return {
    arguments: "What the template gets",
    continueOn: "Failures to tolerate",
    hooks: `Templates to run at events of the ${what}`,
    inline: "The template itself, in place of a name",
    name: "Unique name",
    onExit: `Template to run when the ${what} has ended`,
    template: "Template to run",
    templateRef: "Template of another object to run",
    when: "Condition after tags are replaced, such as {{item}} > 3",
    withItems: "Run once for each element",
    withParam: "Run once for each element of a JSON list",
    withSequence: "Run once for each number",
  };
}

/** What a member of a struct is for; undefined if it has no description. */
export function describeMember(struct: string, member: string): string | undefined {
  const members = Object.hasOwn(DOCS, struct) ? DOCS[struct] : undefined;
  return members !== undefined && Object.hasOwn(members, member) ? members[member] : undefined;
}

/** All descriptions, as `Struct.member`. */
export function describedMembers(): string[] {
  return Object.entries(DOCS).flatMap(([struct, members]) =>
    Object.keys(members).map((member) => `${struct}.${member}`)
  );
}
