/** All words of the pages. Another language is another table. */
import type { StoredKindName } from "./paths.ts";

function many(count: number, one: string, more: string): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : more}`;
}

const KIND_WORDS: Record<StoredKindName, string> = {
  WorkflowTemplate: "template",
  ClusterWorkflowTemplate: "cluster template",
  CronWorkflow: "cron workflow",
  WorkflowEventBinding: "event binding",
};

/** A step, and the workflow that it belongs to: many have steps of the same name. */
function stepOf(name: string, workflow: string): string {
  return name === workflow ? `“${name}”` : `“${name}” of ${workflow}`;
}

const workflows = (count: number) => many(count, "workflow", "workflows");

export const TEXTS = {
  name: "Sluice",
  navigation: "Pages",
  skip: "Skip to the page",
  loading: "Loading …",
  loadingLong: "Still waiting for the server. It is busy, or the network holds its answer up. " +
    "Reload the page to ask again.",
  noScript:
    "These pages need JavaScript. Without it, use the command line (sluice list) or the API.",
  unbuilt: {
    title: "The pages are not built",
    what: "This server runs without the packages that build them. The API works. Build them with:",
    api: "Try the API",
  },
  pages: {
    workflows: "Workflows",
    workflow: "Workflow",
    waiting: "Waiting",
    submit: "Submit",
    events: "Events",
    event: "Event",
    bindings: "Event bindings",
    binding: "Event binding",
    playground: "Try an event",
    login: "Log in",
    notFound: "There is no such page",
  },
  none: "–",
  close: "Close",
  cancel: "Cancel",
  again: "Try again",
  allWorkflows: "All workflows",
  notices: "Messages",
  units: { ms: "ms", s: "s", min: "min", h: "h", d: "d" },
  times: {
    now: "just now",
    ago: (span: string) => `${span} ago`,
    in: (span: string) => `in ${span}`,
  },
  looks: {
    Pending: "Pending",
    Running: "Running",
    Waiting: "Waiting",
    Suspended: "Suspended",
    Succeeded: "Succeeded",
    Failed: "Failed",
    Error: "Error",
    Skipped: "Skipped",
    Omitted: "Not run",
  },
  nodeTypes: {
    Pod: "Container",
    Container: "Container of a set",
    Steps: "Steps",
    StepGroup: "Step group",
    DAG: "DAG",
    TaskGroup: "Task group",
    Retry: "Retry",
    Skipped: "Skipped",
    Suspend: "Suspend",
    HTTP: "HTTP call",
    Plugin: "Plugin",
  } as Record<string, string>,
  copy: {
    do: "Copy",
    done: "Copied",
    title: (what: string) => `Copy ${what}`,
    name: "name",
    command: "command",
    manifest: "manifest",
    nodeId: "node id",
  },
  theme: { label: "Colours", system: "System colours", light: "Light", dark: "Dark" },
  connection: {
    lost: "Connection lost – what you see may be old. Trying again …",
    refused:
      "You may not watch this, so what you see goes out of date. Reload the page to see what is new.",
    back: "Connected again – everything is up to date.",
  },
  fault: {
    title: "This part cannot be shown",
    next: "The rest of the page works. The cause was:",
  },
  trying: "Trying again every few seconds. If this continues, the server's log says more.",
  troubles: {
    login: {
      title: "Please log in",
      next: "This server answers only callers that it knows.",
    },
    forbidden: {
      title: "You may not see this",
      next: "Your login lacks the right. Choose a namespace that you may see, or ask whoever " +
        "keeps the access rules of this server.",
    },
    missing: {
      title: "It is not there",
      next: "It was deleted, or the address is wrong. The list shows what exists.",
    },
    unreachable: {
      title: "The server cannot be reached",
      what: "no answer",
      unanswered:
        "No answer came, so it may have been done all the same. Look before you try again.",
      next: "Trying again every few seconds. Check the network, and whether the server is running.",
    },
    refused: { title: "The server refused the request", next: "It says why:" },
    server: {
      title: "Something went wrong",
      next: "Try again. If this continues, the server's log says more.",
    },
  },
  keys: {
    button: "Keys",
    title: "Keys",
    search: "Go to the search",
    go: (page: string) => `Open ${page}`,
    down: "Next row",
    up: "Previous row",
    open: "Open the row",
    select: "Choose the row or step",
    close: "Close a dialog",
    help: "These keys",
  },
  login: {
    title: "Log in",
    do: "Log in",
    as: "Logged in",
    leave: "Log out",
    token: "Token",
    help: "An administrator makes one with “sluice token create”, or it comes from your identity " +
      "provider. The browser keeps it where scripts cannot read it.",
    refused: (message: string) =>
      message === "Unauthorized"
        ? "The server does not know this token, or it has expired."
        : `The server does not accept this token: ${message}`,
    open: "This server asks nobody to log in: whoever reaches it may see and do everything.",
    goOn: "Continue",
    already: (who: string) => `You are logged in as ${who}. Another token replaces that login.`,
  },
  list: {
    heads: {
      phase: "Phase",
      name: "Name",
      namespace: "Namespace",
      progress: "Progress",
      duration: "Duration",
      created: "Created",
    },
    fields: {
      name: "Name contains",
      namespace: "Namespace",
      since: "Created",
      anyTime: "Any time",
      phases: "Phase",
      labels: "Labels",
      labelsHint: "team=blue,env!=test",
      template: "Template",
      parameter: "Parameter",
      parameterHint: "region=eu",
      columns: "Columns",
      columnsHint: "label:team,param:region",
    },
    /** What is not clear from the word. */
    phaseHints: {
      Running: "Also those that wait or are suspended, as the API counts them",
      Waiting: "Those with a step that waits for a call, the longest wait first",
    } as Partial<Record<string, string>>,
    since: { "1h": "Last hour", "24h": "Last 24 hours", "7d": "Last 7 days" } as Record<
      string,
      string
    >,
    moreFilters: "More filters and columns",
    more: "Show 100 more",
    shown: (count: number) => `${workflows(count)} shown`,
    cut: (count: number, areWaits: boolean) =>
      areWaits
        ? `Only the ${
          workflows(count)
        } that wait longest are shown. Choose filters to find the others.`
        : `Only the newest ${workflows(count)} are shown. Choose filters to find the others.`,
    select: (name: string) => `Choose ${name}`,
    selectAll: "Choose all that are shown",
    chosen: (count: number) => `${count} chosen`,
    clear: "Choose none",
    batch: "With the chosen workflows",
    moreRefused: (count: number) => `… and ${count} more`,
    none: {
      title: "No workflows yet",
      next: "Submit one here, or from the command line:",
      command: "sluice submit workflow.yaml --watch",
    },
    labelsRefused: "Is the filter by labels right? Write it like team=blue,env!=test.",
    noMatch: {
      title: "No workflow matches the filters",
      next: "Choose fewer filters.",
      more: "None among those that were looked at. Show more, or choose other filters.",
      clear: "Clear all filters",
      amongWaits: (text: string) => `Look for “${text}” in what waiting steps got`,
    },
    views: {
      save: "Save this view",
      keep: "Save",
      name: "Name of the view",
      remove: (name: string) => `Remove the view “${name}”`,
    },
  },
  bars: {
    all: (count: number) => `${workflows(count)}:`,
    part: (count: number, areWaits: boolean) =>
      areWaits
        ? `Among the ${workflows(count)} that wait longest:`
        : `Among the newest ${workflows(count)}:`,
    runningOrWaiting: "Running or waiting",
    runningWhat: "Suspended workflows are counted here too",
    atLeast: "at least ",
    partWhy:
      "Only these were counted. Older workflows may add to each phase. Without filters, or with a " +
      "filter by time alone, all are counted.",
  },
  actions: {
    message: "Message (optional)",
    askOne: (action: string, name: string) => `${action} ${name}?`,
    suspend: {
      do: "Suspend",
      what: "No further steps start until it is resumed. Running steps continue.",
      invalid: "None of the chosen workflows can be suspended",
      ask: (count: number) => `Suspend ${workflows(count)}?`,
      done: (name: string) => `${name} is suspended: no further steps start.`,
      failed: (name: string) => `${name} could not be suspended.`,
      many: (done: number, refused: number) => outcome("suspended", done, refused),
    },
    resume: {
      do: "Resume",
      what: "It continues, and so do its steps that wait for a call.",
      invalid: "None of the chosen workflows is suspended",
      ask: (count: number) => `Resume ${workflows(count)}?`,
      done: (name: string) => `${name} continues, and so do its steps that waited for a call.`,
      failed: (name: string) => `${name} could not be resumed.`,
      many: (done: number, refused: number) => outcome("resumed", done, refused),
    },
    stop: {
      do: "Stop",
      what: "Its steps end, its exit handlers still run, and it fails. This cannot be undone.",
      invalid: "None of the chosen workflows runs",
      ask: (count: number) => `Stop ${workflows(count)}?`,
      done: (name: string) => `${name} is being stopped; its exit handlers still run.`,
      failed: (name: string) => `${name} could not be stopped.`,
      many: (done: number, refused: number) => outcome("stopped", done, refused),
    },
    terminate: {
      do: "Terminate",
      what: "It ends at once, without exit handlers. This cannot be undone.",
      invalid: "None of the chosen workflows runs",
      ask: (count: number) => `Terminate ${workflows(count)}?`,
      done: (name: string) => `${name} is being terminated.`,
      failed: (name: string) => `${name} could not be terminated.`,
      many: (done: number, refused: number) => outcome("terminated", done, refused),
    },
    retry: {
      do: "Retry",
      what: "It continues from where it failed. Steps that succeeded keep their results.",
      invalid: "None of the chosen workflows has failed",
      ask: (count: number) => `Retry ${workflows(count)}?`,
      done: (name: string) => `${name} runs again from where it failed.`,
      failed: (name: string) => `${name} could not be retried.`,
      many: (done: number, refused: number) => outcome("retried", done, refused),
    },
    resubmit: {
      do: "Resubmit",
      what: "A new workflow with the same manifest starts from the beginning.",
      values: "The new workflow gets these values.",
      invalid: "None of the chosen workflows can be submitted again",
      ask: (count: number) => `Submit ${workflows(count)} again?`,
      done: (name: string) => `${name} was submitted again as`,
      failed: (name: string) => `${name} could not be submitted again.`,
      many: (done: number, refused: number) => outcome("submitted again", done, refused),
    },
    delete: {
      do: "Delete",
      what: "It is ended if it is still running, and then removed. This cannot be undone.",
      invalid: "None of the chosen workflows can be deleted",
      ask: (count: number) => `Delete ${workflows(count)}?`,
      done: (name: string) => `${name} is deleted.`,
      failed: (name: string) => `${name} could not be deleted.`,
      many: (done: number, refused: number) => outcome("deleted", done, refused),
    },
  },
  story: {
    title: "What happened",
    show: "Show the step",
    lastLines: "The last lines of its log",
    succeeded: (span: string, steps: number) =>
      `Succeeded after ${span}: ${many(steps, "step", "steps")} done.`,
    failedEnd: (span: string) => `The workflow failed after ${span}.`,
    errorEnd: (span: string) => `The workflow ended with an error after ${span}.`,
    step: (name: string, group: string | undefined) =>
      `Step “${name}”` + (group === undefined ? "" : ` in “${group}”`),
    group: (number: string, name: string) => `Group ${number} of the steps of “${name}”`,
    stepFailed: (step: string) => `${step} failed.`,
    stepExit: (step: string, code: string) => `${step} failed with exit code ${code}.`,
    stepError: (step: string) => `${step} could not be run.`,
    attempts: (count: number, limit: string | undefined) =>
      `It was tried ${count === 1 ? "once" : `${count} times`}` +
      (limit === undefined
        ? "."
        : `; its retry strategy allows ${limit} ${limit === "1" ? "retry" : "retries"}.`),
    ruleWhole: "It was the whole workflow.",
    ruleExit: "It was the exit handler: if that fails, the workflow fails.",
    ruleWentOn: (group: string) => `“${group}” went on all the same.`,
    ruleSteps: (group: string) =>
      `Nothing lets “${group}” continue after a failure (no continueOn), so it ended.`,
    ruleDag: (group: string) => `“${group}” fails when one of its branches fails (failFast).`,
    ruleDagPatient: (group: string) =>
      `“${group}” finished its other branches (failFast: false) and then failed.`,
    failedAndWentOn: (count: number) =>
      `${many(count, "step", "steps")} failed, and the workflow went on all the same.`,
    notRun: (count: number) => `${many(count, "step was", "steps were")} not run.`,
    moreFailures: (count: number) => `${many(count, "further step", "further steps")} failed.`,
    suspended: "Suspended: no further steps start until somebody resumes it.",
    suspendedStop: "Stopped while it is suspended: it ends when somebody resumes it.",
    pending: "It has not started yet.",
    between: "It is running, but no step is active at the moment.",
    waitsForCall: (step: string, age: string) =>
      `${step} has been waiting for a call for ${age}. It goes on when somebody resumes it.`,
    waitsForTime: (step: string, age: string, rest: string) =>
      `${step} has been waiting for ${age}. It goes on by itself in ${rest}, or when somebody ` +
      "resumes it.",
    waitsSomewhere: (since: string) =>
      `A step has been waiting since ${since}. It goes on when somebody resumes it, or when its ` +
      "time is over.",
    waitsForLock: (step: string, lock: string, age: string) =>
      `${step} has been waiting for the lock ${lock} for ${age}.`,
    waitsForRetry: (step: string, rest: string) => `${step} will be tried again in ${rest}.`,
    timeout: (limit: string) =>
      `It fails if neither a callback nor a heartbeat comes within ${limit} (timeout).`,
    full: (most: number) =>
      `No further step starts for now: at most ${many(most, "step", "steps")} may run at a ` +
      "time (parallelism of the workflow).",
    fullStep: (name: string, most: number) =>
      `“${name}” starts no further step for now: at most ${many(most, "step", "steps")} of it ` +
      "may run at a time (parallelism).",
    deadline: (rest: string) =>
      `If it has not ended in ${rest}, the workflow is stopped and fails (activeDeadlineSeconds).`,
    holders: "See who holds the lock",
    moreWaits: (count: number) =>
      `${many(count, "further step is waiting", "further steps are waiting")}.`,
    runs: (names: string[], rest: number, span: string) =>
      `Running for ${span}: ${names.map((name) => `“${name}”`).join(", ")}` +
      (rest > 0 ? ` and ${rest} more.` : "."),
  },
  wait: {
    resume: "Resume",
    fail: "Fail it …",
    failNow: "Fail it",
    call: "Resume it or make it fail from a program",
    resumeCall: "The call that resumes it:",
    failCall: "The call that makes it fail:",
    makeUrls: "Make URLs that need no login",
    urlsAreFor: (until: string) =>
      `Until ${until}, whoever has these URLs can resume this step or make it fail, and do ` +
      "nothing else.",
    noUrls: (name: string) => `No URLs could be made for “${name}”.`,
    resumeTitle: (name: string, workflow: string) => `Resume ${stepOf(name, workflow)}`,
    failTitle: (name: string, workflow: string) => `Fail ${stepOf(name, workflow)}?`,
    supply: "The step takes these outputs from whoever resumes it:",
    failWhat: "The step fails with this message, and the workflow decides what follows.",
    resumed: (name: string, workflow: string) => `${stepOf(name, workflow)} goes on.`,
    notResumed: (name: string, workflow: string) =>
      `${stepOf(name, workflow)} could not be resumed.`,
    failed: (name: string, workflow: string) => `${stepOf(name, workflow)} has failed.`,
    notFailed: (name: string, workflow: string) =>
      `${stepOf(name, workflow)} could not be made to fail.`,
  },
  workflow: {
    deleted: "This workflow was deleted. What you see is its last state.",
    views: "Views",
    view: {
      graph: "Graph",
      tree: "Tree",
      time: "Time line",
      logs: "Logs",
      manifest: "Manifest",
    },
    facts: {
      namespace: "Namespace",
      template: "Template",
      created: "Created",
      duration: "Duration",
      progress: "Steps done",
      previous: "All runs of this template",
    },
    actions: "Actions",
    noSteps: "No steps yet",
    fold: (name: string) => `Parts of ${name}`,
    attempts: (count: number) => many(count, "attempt", "attempts"),
    partOf: (step: string) => `in ${step}`,
    moreRows: (count: number) => `${count} more rows: fold some to see them.`,
  },
  graph: {
    tools: "View of the graph",
    larger: "Larger",
    smaller: "Smaller",
    fit: "Fit",
    foldAll: "Reset folding",
    find: "Find a step by name or input",
    findHint: "Find a step",
    findNext: "Next",
    found: (at: number, count: number) =>
      count === 0
        ? "No step has this in its name, message or inputs."
        : at < 0
        ? `${count.toLocaleString("en")} found`
        : `${(at + 1).toLocaleString("en")} of ${count.toLocaleString("en")}`,
    siblings: (count: number, names: string) =>
      names === "" ? many(count, "step", "steps") : `${names} (${count.toLocaleString("en")})`,
    overview: "All of the graph; arrow keys move what is shown",
    noLayout:
      "The script that lays out graphs could not be loaded. The other views show the steps too.",
  },
  panel: {
    label: "Details",
    whole: "The whole workflow",
    choose: "Choose a step to see its inputs, outputs and logs.",
    arguments: "Arguments",
    inputs: "Inputs",
    outputs: "Outputs",
    inputArtifacts: "Input artifacts",
    outputArtifacts: "Output artifacts",
    result: "result",
    attempts: "Attempts",
    labels: "Labels",
    long: (count: number) => `${count.toLocaleString("en")} characters`,
    cut: (count: number) =>
      `Only the first ${count.toLocaleString("en")} characters are shown; copying takes all.`,
    download: "Download",
    preview: "Preview",
    previewOf: (name: string) => `Preview of ${name}`,
    deleted: "deleted",
    facts: {
      phase: "Phase",
      type: "Type",
      template: "Template",
      started: "Started",
      duration: "Duration",
      exitCode: "Exit code",
      host: "Host",
      memoized: "Taken from the cache under",
    },
  },
  logs: {
    title: "Logs",
    search: "Search the lines",
    count: (shown: number, all: number) =>
      shown === all ? many(all, "line", "lines") : `${shown} of ${many(all, "line", "lines")}`,
    following: "live",
    lost: "connection lost, trying again",
    download: "Download",
    none: "No step has written anything",
    noneOfStep: "This step has written nothing",
    noneYet: "No lines yet",
  },
  manifest: {
    form: "Form of the manifest",
    submitted: "As submitted",
    run: "As run",
    whole: "With status",
  },
  inbox: {
    count: (count: number, areMore: boolean) =>
      `${areMore ? "At least " : ""}${many(count, "step is waiting", "steps are waiting")}`,
    text: "Name or input contains",
    textHint: "job-4711",
    template: "Template",
    allTemplates: "All templates",
    what: "These steps wait until somebody resumes them, so that their workflows go on, or makes " +
      "them fail. The one that has been waiting longest comes first.",
    of: (name: string, namespace: string) => `${name} in ${namespace}`,
    inNamespace: (namespace: string) => `in ${namespace}`,
    since: (span: string) => `for ${span}`,
    wakes: (rest: string) => `Goes on by itself in ${rest}.`,
    moreInputs: (count: number) =>
      `${many(count, "further input", "further inputs")}: open the step`,
    more: "Show more",
    looking: "Looking through all that wait …",
    looked: (count: number) => `${many(count, "step", "steps")} so far`,
    none: {
      title: "Nothing is waiting",
      next: "Steps that wait for somebody (suspend templates) appear here, the oldest first.",
    },
    noMatch: { title: "No waiting step matches the filters", next: "Choose fewer filters." },
  },
  sso: {
    do: "Log in with your organisation",
    or: "Or with a token",
    failed: {
      stale: "That login took too long, or another one has begun since. Log in again.",
      refused: "Your identity provider did not let you in. Log in as somebody who may use this " +
        "server, or ask whoever manages the provider.",
      settings:
        "This server and your identity provider do not understand each other. Ask whoever " +
        "runs the server: its log has the reason.",
      unreachable: "Your identity provider does not answer. Try again in a moment.",
      token: "Your identity provider let you in, but this server does not accept its token. Ask " +
        "whoever runs the server: its log has the reason.",
      "too-long": "Your token is too long for a cookie, probably because you are in many groups. " +
        "Ask whoever manages the provider to put fewer into it, or log in with a token.",
    } as Record<string, string>,
  },
  podEvents: {
    title: "Events of the pod",
    none: "None in the last hour. New ones appear here.",
    times: (count: number) => `${count} times, last`,
  },
  logFields: {
    show: "Show fields of JSON lines",
    hint: "word, NAME=VALUE",
    cut: (lines: number) => `… and more than these ${lines.toLocaleString("en")} lines\n`,
  },
  retry: {
    from: "Run again",
    failed: "What failed",
    alsoSteps: "What failed, and steps that I choose",
    steps: "Tick the steps that run again too, with all that follows them",
    search: "Find a step",
    moreSteps: (count: number) => `… and ${count} more: look for them by name.`,
    alsoTemplate: "What failed, and all steps of this template with all that follows them",
    plan: (count: number | undefined) =>
      count === undefined
        ? "Asking which steps run again …"
        : `${many(count, "step runs", "steps run")} again:`,
    after: "Steps that were never reached run after them as usual.",
    values: "Steps that run from now on get these values.",
  },
  choice: {
    bar: "Choosing steps for a retry",
    begin: "Choose steps",
    chosen: (count: number) =>
      count === 0 ? "Choose the steps to run again" : `${many(count, "step", "steps")} chosen`,
    retry: "Retry with these",
  },
  dryRun: {
    do: "Show what would be made",
    title: (name: string) => `This would be made: ${name}`,
    nothing: "Nothing was made. A generated name will be another one.",
    manifest: "Manifest that would be made",
  },
  code: {
    format: "Format",
    yaml: "YAML",
    json: "JSON",
    long: "JSON, because it is too long for YAML here",
    keys: "Ctrl+Space suggests what can go here. Ctrl+F searches.",
    line: (line: number) => `Line ${line}:`,
    unknown: (name: string, near: string | undefined) =>
      `“${name}” is not known here.` + (near === undefined ? "" : ` Do you mean “${near}”?`),
    choice: (choices: readonly unknown[]) =>
      choices.length === 1
        ? `Only ${choices[0]} can be here.`
        : `One of these is expected here: ${choices.join(", ")}.`,
    empty: "There is no manifest yet.",
    several: "A second manifest begins here. Only one can be given at a time.",
    type: (wanted: string) =>
      wanted === "list"
        ? "A list belongs here: begin each item with “- ”."
        : wanted === "object"
        ? "An object belongs here: write “name: value” on each line."
        : `Another type belongs here: ${wanted}.`,
  },
  rights: {
    visible: "You may see something in:",
    noSubmit: (namespace: string) =>
      `You may not submit workflows in “${namespace}”. Choose another namespace, or ask whoever ` +
      "keeps the access rules of this server.",
  },
  edit: {
    page: "Edit a manifest",
    new: {
      WorkflowTemplate: "New template",
      ClusterWorkflowTemplate: "New cluster template",
      CronWorkflow: "New cron workflow",
      WorkflowEventBinding: "New event binding",
    } as Record<StoredKindName, string>,
    title: (kind: StoredKindName, name: string) => `Edit the ${KIND_WORDS[kind]} ${name}`,
    do: "Edit",
    create: "Create",
    update: "Update",
    discard: "Discard my changes",
    example: "Begin with the example again",
    back: (name: string) => `Open ${name}`,
    unchecked: "The manifest has the right form. The rest is checked when it is stored.",
    created: (name: string) => `${name} is stored.`,
    notCreated: "The manifest was not stored.",
    updated: (name: string) => `${name} is updated.`,
    notUpdated: "The manifest was not updated.",
    mayNotCreate: (kind: StoredKindName, namespace: string) =>
      namespace === ""
        ? `You may not create a ${KIND_WORDS[kind]}. Whoever keeps the access rules of this ` +
          "server can allow it."
        : `You may not create a ${KIND_WORDS[kind]} in “${namespace}”. Choose another namespace, ` +
          "or ask whoever keeps the access rules of this server.",
    mayNotUpdate: (kind: StoredKindName, name: string) =>
      `You may not update the ${
        KIND_WORDS[kind]
      } ${name}. Whoever keeps the access rules of this ` +
      "server can allow it.",
    conflict: {
      title: "Somebody else has changed it",
      what: "Your text is based on an older version, so it is not stored. Nothing of it is lost. " +
        "This is stored now:",
      refused: "Somebody else has changed it meanwhile. What is stored now is shown above.",
      unchanged: "The text below is an older version. This is stored now:",
      latest: "Manifest that is stored now",
      take: "Discard my text and edit this",
      show: "Edit this",
      keep: "Keep my text, to replace this",
    },
  },
  submit: {
    button: "Submit a workflow",
    from: "From",
    manifest: "A manifest",
    template: "A template",
    namespace: "Namespace",
    choose: "Choose a template",
    noTemplates: "No templates in this namespace.",
    useManifest: "Write or paste a manifest",
    parameters: "Parameters",
    noParameters: "This template takes no parameters.",
    yaml: "Manifest (YAML or JSON)",
    valid: "The manifest is valid.",
    checking: "Checking …",
    do: "Submit",
    made: (name: string) => `${name} was submitted.`,
    failed: "The workflow was not submitted.",
    unanswered:
      "No answer came, so it may have been submitted all the same. You may submit it again: unchanged, it is submitted once.",
    required: "This parameter needs a value.",
  },
  events: {
    tabs: { label: "Views of events", all: "Deliveries", dead: "Dead letters" },
    all: "All events",
    heads: {
      state: "Outcome",
      event: "Event",
      namespace: "Namespace",
      bindings: "Bindings",
      received: "Received",
    },
    fields: {
      namespace: "Namespace",
      state: "State",
      anyState: "Any state",
      discriminator: "Discriminator",
      binding: "Binding that matched or failed",
    },
    state: { queued: "Waiting or in progress", done: "Done", dead: "Dead letter" },
    /** What became of an event. */
    words: {
      queued: "Queued",
      retried: "Tried again",
      matched: "Matched",
      unmatched: "No match",
      dead: "Dead letter",
      unreadable: "Unreadable",
    },
    outcomes: {
      "not-matched": "no match",
      submitted: "submitted",
      resumed: "resumed",
      stopped: "stopped",
      waiting: "waits for its step",
      error: "error",
    },
    noDiscriminator: "(no discriminator)",
    noNamespace: "(namespace not known)",
    whole: "the event as a whole",
    notMatched: (count: number) => `${count} more without a match`,
    moreVerdicts: (count: number) => `and ${count} more`,
    noBindings: "no binding in its namespace",
    older: "Older",
    newest: "Newest",
    page: "Pages",
    looked: "None on this page. Older ones may match.",
    none: {
      title: "No events yet",
      next: "Each event that is sent appears here, with what every binding did with it. Send one:",
      command: "sluice event send build --data '{\"number\": 7}'",
    },
    noDead: {
      title: "No dead letters",
      next: "An event that could not be dispatched appears here, and can be replayed.",
    },
    noMatch: {
      title: "No event matches the filters",
      next: "Choose fewer filters.",
      clear: "Clear all filters",
    },
    facts: {
      namespace: "Namespace",
      received: "Received",
      size: "Size",
      attempts: "Attempts",
      next: "Next attempt",
      sender: "Sent by",
      id: "Id",
    },
    stories: {
      title: "What its bindings did",
      unexplained: (count: number) =>
        `${many(count, "further binding is", "further bindings are")} not explained here.`,
      none: "There was no binding in its namespace.",
      queued: "No binding has seen it yet.",
      notAsked:
        "It is not in the record: it was created later, or too many bindings did not match.",
      changed: {
        selected: "The binding has changed since: now it would select this event.",
        other: "The binding has changed since: now it would not select this event.",
      },
      selector: {
        selected: "The selector is true",
        "not-selected": "The selector is false",
        error: "The selector fails",
      },
      because: (parts: string[]) => `because of ${parts.join(" and ")}`,
      unreadable: "The selector cannot be evaluated.",
      gone: "deleted",
    },
    parts: {
      label: "Parts of the selector",
      verdicts: { true: "true", false: "false", error: "error", skipped: "not evaluated" },
      operators: {
        and: "all of these",
        or: "one of these",
        not: "not",
      },
      value: (text: string, value: string) => `${text} is ${value}`,
    },
    payload: {
      title: "Payload",
      what: "payload",
      headers: "Headers",
      noHeaders: "No header that begins with x- came with it.",
      notKept: "The event itself is not kept. Dead letters are, and of the others a sample up to " +
        "16 KiB (--kept-event-rate).",
      queued: "The event itself can be seen when it has been dispatched.",
      forbidden: "You may not see the payload: that needs the right to update event bindings in " +
        "this namespace.",
      bytes: "Its bytes, as they are stored",
      cut: "Only the beginning is kept.",
      base64: "They are not text, so they are shown in base64.",
      lost: "It cannot be replayed: send the event again.",
    },
    try: "Try it with other bindings",
    bind: "Make a binding for such events",
    replay: {
      do: "Replay",
      one: (id: string) => `Replay ${id}`,
      all: "Replay all that match …",
      counting: "Counting …",
      title: (count: number) => `Replay ${many(count, "dead letter", "dead letters")}?`,
      what:
        "Each goes back into the queue, for the bindings that failed or were added since, with " +
        "the rights of its sender. Bindings that succeeded do nothing again.",
      nothing: "None of them can be replayed.",
      progress: (done: number, all: number) =>
        `${done.toLocaleString("en")} of ${all.toLocaleString("en")} put back`,
      full: "The queue is full; waiting for room …",
      stop: "Stop",
      done: (count: number) =>
        `${many(count, "dead letter is", "dead letters are")} back in the queue.`,
      failed: "The dead letter could not be replayed.",
    },
    bindings: {
      heads: {
        name: "Binding",
        namespace: "Namespace",
        selector: "Selector",
        does: "Does",
        match: "Last match",
        error: "Last error",
      },
      submits: (template: string) => `submits ${template}`,
      resumes: "resumes a step",
      stops: "stops a step",
      nothing: "nothing",
      never: "none",
      looked: (count: number) =>
        `Matches and errors are those among the newest ${many(count, "event", "events")}.`,
      part: "There are more bindings. Choose a namespace to see the others.",
      none: {
        title: "No event bindings yet",
        next: "A binding says which events start which workflow. Store one:",
        command: "sluice binding create binding.yaml",
      },
      noMatch: { title: "No event binding in this namespace", next: "Choose another namespace." },
      counts: (matched: number, failed: number) =>
        `${matched.toLocaleString("en")} matched, ${failed.toLocaleString("en")} failed`,
      facts: { activity: "Newest events" },
      unreadable: "The stored binding cannot be read; write it again or delete it.",
      events: "Its events",
      try: "Try it with an event",
      remove: "Delete",
      removeAsk: (name: string) => `Delete the event binding ${name}?`,
      removeWhat: "Events that come from now on start nothing through it. This cannot be undone.",
      removed: (name: string) => `The event binding ${name} is deleted.`,
      notRemoved: (name: string) => `The event binding ${name} could not be deleted.`,
      what: "selector",
    },
    playground: {
      what: "What would a binding do with an event? Nothing is sent and nothing is done.",
      event: "Event",
      binding: "Binding",
      payload: "Payload (JSON)",
      headers: "Headers that begin with x-, one per line",
      headersHint: "x-github-event: push",
      headersWrong: "Each line of the headers is a name, a colon and a value.",
      paste: "A manifest",
      noBindings:
        "There is no binding in this namespace, and you may not try one that is not stored.",
      manifest: "Binding (YAML or JSON)",
      result: "Result",
      trying: "Trying …",
      "not-matched": "It would do nothing: the selector is false.",
      submit: "It would submit this workflow:",
      resume: "It would resume the steps that this selects:",
      stop: "It would stop the steps that this selects:",
      error: "It would fail:",
      refused: "It cannot be tried:",
      payloadWrong: (message: string) => `The payload is not JSON. ${message}`,
      manifestWrong: (message: string) => `The manifest is not YAML. ${message}`,
      parameters: "Parameters",
      workflow: "Workflow",
    },
  },
  menu: "Menu",
  templates: {
    title: "Templates",
    one: "Template",
    scope: "Where",
    scopes: { namespaced: "In namespaces", cluster: "For the whole cluster" },
    search: "Name contains",
    heads: {
      name: "Name",
      namespace: "Namespace",
      parameters: "Parameters",
      created: "Created",
    },
    everywhere: "all namespaces",
    clusterTemplate: "A template of the cluster",
    noClusterTemplates: "There are no templates of the whole cluster.",
    submit: "Submit from it",
    remove: "Delete",
    removeAsk: (name: string) => `Delete the template ${name}?`,
    removeWhat:
      "Workflows that were made from it go on. What refers to it by name (cron workflows, " +
      "event bindings, other templates) will fail. This cannot be undone.",
    removed: (name: string) => `The template ${name} is deleted.`,
    notRemoved: (name: string) => `The template ${name} could not be deleted.`,
    unreadable: "It cannot be read, and can only be deleted:",
    none: {
      title: "No templates yet",
      next:
        "A template is a stored workflow that people, cron workflows and events start. Store one:",
      command: "sluice template create template.yaml",
    },
    noMatch: { title: "No template matches the filters", next: "Choose fewer filters." },
    facts: {
      namespace: "Namespace",
      entrypoint: "Begins with",
      created: "Created",
      steps: "Templates in it",
    },
    parameters: {
      title: "Parameters",
      none: "It takes no parameters.",
      name: "Name",
      value: "Default",
      choices: "Choices",
      description: "Description",
      required: "required",
    },
    runs: {
      title: "Last runs",
      none: "It has not run yet, or its runs are deleted.",
      all: "All its runs",
      hidden: "Its runs cannot be shown:",
    },
    manifest: "Manifest",
    tooMany: "Only the first 2,000 are shown. Search for the others by name.",
  },
  crons: {
    title: "Cron",
    one: "Cron workflow",
    search: "Name contains",
    heads: {
      name: "Name",
      namespace: "Namespace",
      state: "State",
      schedule: "Schedule",
      next: "Next run",
      last: "Last run",
      ended: "Succeeded, failed",
    },
    states: {
      on: "On",
      off: "Suspended",
      stopped: "Stopped for good",
      wrong: "In trouble",
    },
    every: (span: string) => `Every ${span}, counted from its creation`,
    zone: (words: string, zone: string) => `${words} (${zone})`,
    never: "never",
    notWhile: {
      off: "none while it is suspended",
      stopped: "none",
      wrong: "none: it cannot be read",
    },
    none: {
      title: "No cron workflows yet",
      next: "A cron workflow starts a workflow at set times. Store one:",
      command: "sluice cron create cron.yaml",
    },
    noMatch: { title: "No cron workflow matches the filters", next: "Choose fewer filters." },
    line: {
      title: "The next 24 hours",
      label: (name: string, count: string) => `${name}: ${count}`,
      runs: (count: number, isMore: boolean) =>
        `${isMore ? "more than " : ""}${many(count, "run", "runs")}`,
      often: "more often than can be drawn",
      now: "now",
      past: "Past and next runs",
      more: (count: number) => `The time line shows the first ${count}.`,
    },
    switchOff: "Suspend",
    switchOn: "Resume",
    runNow: "Run now",
    remove: "Delete",
    off: (name: string) => `${name} is suspended: it starts nothing until it is resumed.`,
    on: (name: string) => `${name} is resumed.`,
    ran: (name: string) => `${name} runs now as`,
    removed: (name: string) => `The cron workflow ${name} is deleted.`,
    failed: (name: string) => `${name} was not changed.`,
    removeAsk: (name: string) => `Delete the cron workflow ${name}?`,
    removeWhat:
      "It starts nothing any more, and its workflows are deleted with it, also those that " +
      "still run. Those in the archive stay. This cannot be undone.",
    runAsk: (name: string) => `Run ${name} now?`,
    runWhat:
      "A workflow starts at once, in addition to its schedule and whatever its concurrency policy says.",
    facts: {
      namespace: "Namespace",
      schedule: "Schedule",
      policy: "If the previous run is still going",
      when: "Runs only when",
      stop: "Stops for good when",
      deadline: "A missed time is made up for within",
      history: "Kept runs",
      counts: "Ended so far",
    },
    policies: {
      Allow: "both run",
      Forbid: "the new one is skipped",
      Replace: "the old one is terminated",
    },
    history: (succeeded: number, failed: number) =>
      `${succeeded} that succeeded, ${failed} that failed`,
    counts: (succeeded: number, failed: number) =>
      `${succeeded.toLocaleString("en")} succeeded, ${failed.toLocaleString("en")} failed`,
    trouble: {
      SpecError: "It does not run because its manifest is wrong:",
      SubmissionError: "The last run could not be submitted:",
      other: (type: string) => `${type}:`,
    },
    offSince: "It is suspended: due times pass without a run.",
    stoppedFor:
      "The condition of its stop strategy was met: it will never run again. Delete it, or make a " +
      "new one.",
    next: {
      title: "Next runs",
      off: "Due times (nothing runs then, because it is suspended)",
      none: "No run is due.",
    },
    runs: { title: "Last runs", none: "It has not run yet, or its runs are deleted." },
    skips: {
      title: "Skipped runs",
      none: "No run was skipped. Times while it is suspended do not count.",
      one: (time: string) => `The run of ${time} was skipped`,
      row: (count: number, from: string, to: string) =>
        `${count.toLocaleString("en")} runs from ${from} to ${to} were skipped`,
      reasons: {
        active: "because the previous run was still going (concurrency policy Forbid).",
        condition: "because its condition (when) was false.",
        error: "because it was refused: see the conditions.",
      },
    },
    manifest: "Manifest",
  },
  runs: {
    title: (template: string) => `The newest runs of ${template}`,
    this: (name: string) => `${name} (this one)`,
    heads: { phase: "Phase", name: "Name", started: "Created", duration: "Duration", due: "Due" },
  },
  archive: {
    title: "Archive",
    one: "Archived workflow",
    search: "Name begins with",
    label: "Labels",
    started: "Started",
    kept: "Kept",
    places: { only: "only here", both: "also in the list" },
    heads: {
      phase: "Phase",
      name: "Name",
      namespace: "Namespace",
      duration: "Duration",
      finished: "Finished",
    },
    more: "Show 100 more",
    shown: (count: number) => `${workflows(count)} shown`,
    tooMany: "Only the first 2,000 are shown. Choose filters to find the others.",
    none: {
      title: "The archive is empty",
      next:
        "Finished workflows are here as soon as there are some. With --archive-deleted they stay " +
        "here when they are deleted.",
    },
    noMatch: { title: "No archived workflow matches the filters", next: "Choose fewer filters." },
    note: "This is the workflow as the archive has it. It does not change.",
    live: "Open it in the list of workflows",
    retried: (name: string) => `${name} is back and runs again from where it failed.`,
    removeWhat: "It is removed from the archive and, if it is still there, from the list. " +
      "This cannot be undone.",
  },
  locks: {
    title: "Locks",
    kinds: { mutex: "Mutex", semaphore: "Semaphore" },
    held: (held: number, limit: number) => `${held} of ${limit} held`,
    free: (waiting: number) => waiting === 0 ? "nobody waits" : `${waiting} waiting`,
    over: "More hold it than its limit allows now. Their number falls as they release it.",
    count: (count: number) => many(count, "lock", "locks"),
    more: "Show 100 more",
    holders: "Held by",
    waiting: "Waiting, in this order",
    hidden: "a workflow that you may not see",
    wholeWorkflow: "the whole workflow",
    step: "a step",
    since: (span: string) => `for ${span}`,
    priority: (priority: number) => `priority ${priority}`,
    rest: (count: number) => `… and ${count.toLocaleString("en")} more`,
    place: {
      CONFIGMAP: (cmName: string, key: string) =>
        `Its limit is under “${key}” in the config map “${cmName}”.`,
      DATABASE: (key: string) => `Its limit is under “${key}” in the server's own limits.`,
    },
    change: "Change the limit",
    limit: "Most holders at a time",
    save: "Save",
    changed: (name: string, limit: number) => `${name} may now be held ${limit} times.`,
    notChanged: (name: string) => `The limit of ${name} was not changed.`,
    none: {
      title: "Nobody holds or waits for a lock",
      next:
        "Mutexes and semaphores (synchronization in a manifest) appear here while somebody uses them.",
    },
    noMatch: {
      title: "Nobody holds or waits for a lock of this namespace",
      next: "Choose another namespace.",
    },
  },
  system: {
    title: "System",
    well: "All is well.",
    verdict: "What is wrong, and what to do",
    notes: "Good to know",
    replicas: {
      title: "Replicas",
      heads: {
        name: "Name",
        shards: "Shards",
        work: "In memory, running",
        memory: "Memory",
        version: "Version",
        started: "Started",
        answer: "Answer",
      },
      silent: "no answer",
      work: (actors: number, tasks: number) =>
        `${many(actors, "workflow", "workflows")}, ${many(tasks, "task", "tasks")}`,
      shards: (count: number, total: number) => `${count} of ${total}`,
      process: (number: number) => `process ${number}`,
      heap: (used: string, limit: string) => `heap ${used} of ${limit}`,
      ms: (ms: number) => `${ms} ms`,
    },
    shards: {
      title: "Shards",
      what: "Every workflow lives in a shard, and one replica at a time runs a shard.",
      of: (shard: number, owner: string) => `Shard ${shard}: ${owner}`,
      nobody: "nobody",
      owner: (name: string, ranges: string) => `${name}: ${ranges}`,
    },
    store: {
      title: "Store",
      kinds: {
        memory: "Memory of this process",
        sqlite: "SQLite on this machine",
        redis: "Redis",
      } as Record<string, string>,
      kind: "Kind",
      durability: "An answered write survives",
      answer: "Answers after",
      noAnswer: "does not answer",
      promises: {
        always: "a power cut",
        everysec: "the death of any process; up to a second may be lost in a power cut",
        none: "nothing: it is gone with the process",
        unknown: "what the store's own settings say; they cannot be read",
      } as Record<string, string>,
    },
    events: {
      title: "Queue of events",
      fill: (queued: number, capacity: number) =>
        `${queued.toLocaleString("en")} of ${capacity.toLocaleString("en")} places taken`,
      unknown: "The store does not tell.",
    },
    executors: {
      title: "Executors",
      kinds: {
        process: "Steps run as processes of the server's machine.",
        container: "Steps run as containers of the server's machine.",
        kubernetes: "Steps run as pods of the cluster.",
        none: "No steps run here: only suspend and http templates work.",
      } as Record<string, string>,
      on: (kind: string, count: number) => `${kind}: ${many(count, "replica", "replicas")}`,
    },
    troubles: {
      storeGone: {
        what: (message: string) => `The store does not answer: ${message}.`,
        todo: "Requests get 503 until it does. Check that it runs, and the network between. " +
          "Nothing that was answered with success is lost.",
      },
      writesRefused: {
        what: (message: string) => `The store refuses writes: ${message}.`,
        todo:
          "Lists still work, changes get 503. Its disk or memory is full, or it is read-only: make " +
          "room. Nothing has to be restarted.",
      },
      durability: {
        what: (asked: string, promised: string) =>
          `The store promises less than --durability=${asked} asks for (${promised}).`,
        todo:
          "On Redis, set appendonly yes and appendfsync always; or say --durability=everysec if " +
          "losing a second in a power cut is fine.",
      },
      silent: {
        what: (names: string) => `No answer from ${names}.`,
        todo: "It has just ended, its event loop is blocked, or its version is older. If this " +
          "continues, look at its log. Its shards go to others when its lease runs out.",
      },
      slow: {
        what: (name: string, ms: number) => `${name} needed ${ms} ms to answer.`,
        todo:
          "Its event loop is busy. The log says what blocks it; more replicas or --processes help.",
      },
      unowned: {
        what: (count: number) => `${many(count, "shard has", "shards have")} no owner.`,
        todo:
          "Their workflows stand still for now. When replicas come and go, that lasts a few seconds. " +
          "If this continues, a replica does not answer or the store refuses leases: see the log.",
      },
      versions: {
        what: (versions: string) => `Replicas run different versions: ${versions}.`,
        todo:
          "That is fine during an update. Afterwards, replace those that still run the old one.",
      },
      queueFull: {
        what: (percent: number) => `The queue of events is ${percent} % full.`,
        todo:
          "When it is full, senders get 503 and try again. Look for bindings that fail, or add replicas.",
      },
      memory: {
        what: (name: string, percent: number) => `${name} uses ${percent} % of its heap.`,
        todo: "Give it more memory, or lower --hot-actors.",
      },
      noReplicas: {
        what: "No replica runs shards.",
        todo: "The server has just started, or it cannot take leases: see the log.",
      },
      volatile: {
        what: "Everything is kept in memory, and gone when the server ends.",
        todo: "For more than trying it out, start it with --store=sqlite:FOLDER or a Redis.",
      },
      noExecutor: {
        what: "No replica runs steps (--executor none).",
        todo:
          "Only suspend and http templates work. Choose an executor to run containers or scripts.",
      },
      single: {
        what: "There is one replica.",
        todo:
          "If it ends, everything waits until it is back. On Redis, two or more take over from each other.",
      },
    },
  },
} as const;

function outcome(what: string, done: number, refused: number): string {
  const success = `${workflows(done)} ${what}`;
  return refused === 0 ? `${success}.` : `${success}, ${refused} refused:`;
}
