/** Where Sluice deliberately differs from the reference. `compatibility.test.ts` checks the evidence that each decision names. */

/** A case in which the reference is probably wrong. */
export interface QuirkDecision {
  /** What it is about. */
  subject: string;
  reference: string;
  /** Whether Sluice does what the reference does. */
  choice: "same" | "better";
  sluice: string;
  why: string;
  /** Name of a test in `test/fixtures/manifests/decisions.test.yaml`, or `file: name` of another test. */
  shown: string;
}

export const QUIRK_DECISIONS: readonly QuirkDecision[] = [
  {
    subject: "Two nodes whose names have the same hash",
    reference: "Have the same id, so only one of them runs",
    choice: "better",
    sluice: "The second one gets another id and another pod name, which also come from its name",
    why: "In a loop of 100,000 elements, one on average would be left out without a word",
    shown:
      "src/engine/renamed_nodes.test.ts: %s: both run, also after a restart, a retry and in a copy",
  },
  {
    subject:
      "Template that stands in a step, with an input of the same name as the template around it",
    reference: "Gets the value of the template around it, and also its `node.name`",
    choice: "better",
    sluice: "Gets its own",
    why: "What its step passes to it must not be lost without a word",
    shown:
      "src/simulation/inline_templates.test.ts: own inputs are not those of the same name around it",
  },
  {
    subject:
      "Templates that stand in steps of the same name, in two templates of one stored manifest",
    reference: "Are kept under one key, so the second one runs the first",
    choice: "better",
    sluice: "Each step runs its own",
    why: "A workflow must run what its manifest says",
    shown:
      "src/simulation/inline_templates.test.ts: steps of the same name in two templates of a stored manifest run their own",
  },
  {
    subject: "http template without `timeoutSeconds`",
    reference: "Documented as 30 s, but waits for ever",
    choice: "better",
    sluice: "Ends after 30 s",
    why: "A server that never answers must not hold up a step and its place for ever",
    shown:
      "src/executors/http/executor.test.ts: without a timeout of its own a request has 30 s, from the connection to the last byte",
  },
  {
    subject: "Name or label key of a workflow's own metric that Prometheus can't read",
    reference: "Accepted; only metrics of templates are checked",
    choice: "better",
    sluice:
      "Refused, with its path in the message; one that comes from a parameter becomes a condition",
    why: "It would break lines of `/metrics`, or forge them",
    shown:
      "src/engine/metrics.test.ts: a label key that comes from a parameter is checked when it is known",
  },
  {
    subject: "Reference to an output that a failed step never made",
    reference: "Tried again for ever; the workflow stays Running",
    choice: "better",
    sluice: "The group fails and names what could not be resolved",
    why: "The value can never come; a workflow that hangs is worse than one that fails",
    shown: "a reference to what a failed step never made ends the workflow",
  },
  {
    subject: "Reference to an output of a skipped step",
    reference: "Tried again for ever; the workflow stays Running",
    choice: "better",
    sluice: "The step that needs it ends with an error",
    why: "As above",
    shown: "a reference to what a skipped step never made ends the workflow",
  },
  {
    subject: "Results of a loop over an empty list",
    reference: "Can't be resolved; the workflow stays Running",
    choice: "better",
    sluice: "An empty list, `[]`; an output of a template that has a default takes that",
    why: "A loop without elements has no results; aggregated parameters already give an empty list",
    shown: "the results of an empty loop are an empty list",
  },
  {
    subject:
      "Output with a default, from `outputs.result` of a loop whose elements were all skipped",
    reference: "An empty list; only `outputs.parameters.…` takes the default",
    choice: "same",
    sluice: "The same",
    why: "The results are known, and there are none; a loop over that output is then skipped",
    shown:
      "src/simulation/outputs.test.ts: the results of a loop whose elements were all left out are an empty list, also beside a default",
  },
  {
    subject: "Step that is skipped, behind a step of its group that can't be carried out",
    reference: "Has no node",
    choice: "better",
    sluice: "Shown as skipped",
    why: "Its `when` doesn't depend on its neighbours, so neither does what is shown of it",
    shown:
      "src/simulation/step_errors.test.ts: a step that is skipped has a node, whatever becomes of the steps before it",
  },
  {
    subject: "`withItems: []`",
    reference: "Not treated as a loop: one task with the raw `{{item}}`",
    choice: "better",
    sluice: "An empty loop: the step is skipped",
    why: "Nobody wants a task with a raw tag in its command; `withParam: '[]'` is skipped too",
    shown: "an empty list of items is an empty loop",
  },
  {
    subject: "Task named like an operator (`in`)",
    reference: "Every dependency on it fails at run time",
    choice: "better",
    sluice: "A name like any other",
    why: "Validation accepts the name, so it must work",
    shown: "a task may have the name of an operator",
  },
  {
    subject: "`failFast` of a template, and a step of it that may be attempted again",
    reference: "The first failed attempt ends the template; its retry node stays Running",
    choice: "better",
    sluice: "The step fails when its last attempt fails",
    why:
      "A retry strategy asks for further attempts, and a finished workflow must have no running nodes",
    shown: "an attempt that is followed by another one is no failure for failFast",
  },
  {
    subject: "Backoff of a retry strategy without a `limit`",
    reference: "Not waited for: the next attempt begins at once",
    choice: "better",
    sluice: "Waited for",
    why:
      "Whoever writes a backoff wants to spare what failed, above all if the step is repeated for ever",
    shown: "src/engine/nodes/retry.test.ts: a backoff is waited for, also without a limit",
  },
  {
    subject: "Output with a `globalName` of a DAG that no other DAG calls",
    reference: "Not published; that of a Steps template is",
    choice: "better",
    sluice: "Published",
    why: "What a name is for must not depend on the kind of the template",
    shown:
      "src/simulation/outputs.test.ts: an output with a globalName of an entrypoint that is a %s is one of the workflow",
  },
  {
    subject: "Daemon that ends while its group goes on",
    reference: "The workflow ends with nodes that are still Running or Pending",
    choice: "better",
    sluice: "Running nodes end first, then the group fails",
    why: "A finished workflow must have no running nodes",
    shown:
      "a daemon that ends while its group goes on fails the workflow, and nothing is left running",
  },
  {
    subject: "Daemon of a step with a retry strategy that ends by itself",
    reference: "Not attempted again, other than that of a task; its retry node ends Succeeded",
    choice: "better",
    sluice: "Attempted again, like that of a task; its step fails when the strategy gives up",
    why: "What a strategy means must not depend on the kind of the template around it",
    shown: "src/simulation/lost_daemons.test.ts: they are attempted again after %s",
  },
  {
    subject: "Next attempt of a daemon, not yet ready when its boundary ends",
    reference: "Goes on in a workflow that has finished",
    choice: "better",
    sluice: "Ended with the daemon",
    why: "A finished workflow must have no running nodes",
    shown:
      "src/simulation/lost_daemons.test.ts: an attempt that is not ready when their boundary ends is ended",
  },
  {
    subject: "Step that can't be carried out, beside others that run",
    reference: "Its group ends at once; the others stay Running in a workflow that has finished",
    choice: "better",
    sluice: "The group ends when the others have ended",
    why: "As above; the steps of a group are never cut off because another one has failed",
    shown:
      "src/simulation/step_errors.test.ts: a group in which a step can't be carried out ends when the steps beside it have ended",
  },
  {
    subject: "Entrypoint whose pod is still pending at its `timeout`",
    reference:
      "The node has failed, the workflow has an error in its entry template, and no exit handler runs",
    choice: "better",
    sluice: "The workflow has failed with `timeout`, and its exit handler runs",
    why: "It makes no difference to the clean-up whether the pod had begun",
    shown:
      "src/simulation/step_errors.test.ts: the exit handler runs after an entrypoint that timed out before it began",
  },
  {
    subject: "Stop of a step with a retry strategy that waits for a lock",
    reference: "Makes an attempt that fails at once",
    choice: "better",
    sluice: "The step fails without an attempt",
    why: "Nothing has been attempted",
    shown:
      "src/simulation/lock_places.test.ts: a stop begins no attempt of a step that waits for a lock",
  },
  {
    subject: "Task after a loop in a DAG that has an exit handler",
    reference:
      "Begins with the exit handler of the loop; after a task without a loop, when the handler has ended",
    choice: "better",
    sluice: "Begins when the handler has ended, after loops too",
    why: "What comes after may rely on the clean-up",
    shown:
      "src/simulation/loop_hooks.test.ts: a task after a loop in a DAG begins when the exit handler of the loop has ended",
  },
  {
    subject: "Condition of a hook that names something that does not exist yet",
    reference:
      "The group or task fails at once; the outputs of the step itself are never available",
    choice: "better",
    sluice:
      "False while the step runs; an error if it still can't be decided when the step has ended",
    why: "A hook may ask for the outputs of its step, which come last",
    shown:
      "src/simulation/broken_hooks.test.ts: may name what is there only when the step has ended",
  },
  {
    subject: "Hook that cannot be carried out",
    reference: "The step or task itself gets the error, even if it has succeeded, or stays Running",
    choice: "better",
    sluice:
      "The hook's own node has the error; the step ends first, then the group, DAG or workflow as in the reference",
    why: "A finished step never changes, and a finished workflow must have no running nodes",
    shown: "src/simulation/broken_hooks.test.ts: that lacks an input fails the steps",
  },
  {
    subject: "Hook or exit handler of a step that is still pending at its `timeout`",
    reference:
      "A hook fails the group around the step, or ends its DAG with an error; an exit handler ends a Steps template with an error, and changes nothing in a DAG",
    choice: "better",
    sluice: "Fails alone, as any hook does that fails",
    why: "What a hook does says nothing of the step",
    shown: "src/simulation/broken_hooks.test.ts: one that is pending for too long fails alone: %s",
  },
  {
    subject: "Step with `continueOn.failed` that is still pending at its `timeout`",
    reference: "Its template fails with `timeout`; a task of a DAG is tolerated",
    choice: "better",
    sluice: "Tolerated in both",
    why: "It has failed, and that may be",
    shown:
      "src/simulation/step_errors.test.ts: a step that timed out before it began is tolerated like any other that failed",
  },
  {
    subject: "Hook or exit handler of a step that finds no free place under `parallelism`",
    reference: "The step has an error, or the whole workflow ends with `Max parallelism reached`",
    choice: "better",
    sluice: "Waits for a place; the hook of a loop in a DAG gets one before elements that wait",
    why: "A limit is there to make things wait",
    shown:
      "src/simulation/loop_hooks.test.ts: gets the next free place, before the elements that wait",
  },
  {
    subject: "Condition of the workflow's exit handler",
    reference: "Ignored: the handler always runs",
    choice: "better",
    sluice: "Decides; the handler also runs when it can't be decided",
    why: "A condition is there to be obeyed, and a typing error must not cost the clean-up",
    shown:
      "src/simulation/broken_hooks.test.ts: of the workflow runs only when its condition holds or can't be decided",
  },
  {
    subject: "Exit handler that is a DAG, of a workflow that was stopped",
    reference: "Fails at once, whatever its tasks do",
    choice: "better",
    sluice: "Ends as its tasks do",
    why: "Exit handlers run after a stop, and the workflow should show what they did",
    shown:
      "src/simulation/stopped_dags.test.ts: the exit handler of a workflow that was stopped may be a DAG",
  },
  {
    subject:
      "Exit handler of a task with a retry strategy, and the tasks after it that are left out",
    reference:
      "They take the phase of the handler: the DAG succeeds although the task has failed, or fails although only the handler has",
    choice: "better",
    sluice: "They take the phase of the task",
    why: "Clean-up that succeeds must not hide a failure",
    shown:
      "src/simulation/node_tree.test.ts: a DAG has failed although the exit handler of its failed retry node has succeeded",
  },
  {
    subject: "Plain retry after a suspend step was failed",
    reference: "The suspend step stays failed, and the workflow fails again at once",
    choice: "better",
    sluice: "It waits again; the steps before it are not repeated",
    why: "A retry is for the step that failed",
    shown:
      "a plain retry waits again at a suspend step that was failed, and repeats nothing before it",
  },
  {
    subject: "Plain retry of a step that failed, and whose hook or exit handler succeeded",
    reference:
      "The step stays failed, because something below it has succeeded: nothing runs, and the workflow fails again at once",
    choice: "better",
    sluice: "The step runs again, and then its hooks",
    why: "A retry is for the step that failed; a hook only watches",
    shown:
      "a plain retry repeats a failed step although its hook and its exit handler have succeeded",
  },
  {
    subject:
      "Plain retry of a container set whose containers succeeded, but whose outputs were lost",
    reference:
      "The step stays failed, because something below it has succeeded: nothing runs, and the workflow fails again at once",
    choice: "better",
    sluice: "The step runs again",
    why: "A retry is for the step that failed",
    shown:
      "src/simulation/unbegun_retry.test.ts: of a pod whose containers have succeeded, but whose outputs were lost",
  },
  {
    subject:
      "Plain retry of a template, or of a step with a retry strategy, that was stopped while it waited for a lock",
    reference: "It stays failed, and the workflow fails again at once",
    choice: "better",
    sluice: "It begins anew",
    why: "Nothing of it has run yet",
    shown:
      "src/simulation/unbegun_retry.test.ts: of the steps that are stopped while they wait for a lock",
  },
  {
    subject: "Plain retry after a stop that ended a DAG while only exit handlers ran",
    reference:
      "Nothing has failed in the DAG, so it stays failed, and the workflow fails again at once",
    choice: "better",
    sluice: "The DAG goes on from where it was stopped",
    why: "A retry is there to go on from the failure",
    shown:
      "src/simulation/unbegun_retry.test.ts: of a DAG that is stopped while only an exit handler runs",
  },
  {
    subject: "Step after one that was skipped, in a workflow that was resubmitted with its results",
    reference: "In a DAG it has no parent, and every retry is refused",
    choice: "better",
    sluice: "It can be retried like any other",
    why: "A retry is there to go on from the failure",
    shown: "src/simulation/resubmitted_retry.test.ts: the step after one that is skipped",
  },
  {
    subject: "Retry after a template inside that `failFast` or an error has ended",
    reference:
      "Refused for ever: what comes after that template has no parent in the graph; beside another dependency it stays left out",
    choice: "better",
    sluice: "What was left out after that template begins again with it",
    why: "A retry is there to go on from the failure",
    shown: "src/simulation/fail_fast.test.ts: a retry also begins the tasks that were left out %s",
  },
  {
    subject: "Manual retry inside a template whose daemon was stopped when it ended",
    reference:
      "The daemon stays stopped: what runs again is given its old address, and fails again",
    choice: "better",
    sluice:
      "The daemon begins again first; what depends on it waits until it is ready, and is given its new address. What has succeeded stays as it is",
    why: "A step that needs a daemon can't succeed without it",
    shown: "src/simulation/retried_daemons.test.ts: begin again before what needs them, in %s",
  },
  {
    subject: "Plain retry of a task that failed, and after which only daemons began",
    reference:
      "The task stays failed, because something below it has succeeded, and the workflow fails again at once",
    choice: "better",
    sluice: "The task runs again, and then the daemons",
    why: "A daemon succeeds because it is stopped; that says nothing of what came before it",
    shown:
      "src/simulation/retried_daemons.test.ts: say nothing of the task before them, which begins again: %s",
  },
  {
    subject: "Manual retry of a Steps or DAG template with a retry strategy",
    reference:
      "Opens all its attempts again, also those of a step that has succeeded, and may add another: steps are carried out several times, and attempts stay Running",
    choice: "better",
    sluice:
      "Goes on with the last attempt; earlier ones stay as they ended, also when a selector names their steps",
    why: "A step must not be carried out once for each attempt",
    shown:
      "src/simulation/node_tree.test.ts: a manual retry goes on with the last attempt of a template only, and repeats none of a step that has succeeded",
  },
  {
    subject: "Escapes that JSON does not need (`\\u00e9`, `\\/`) in the name of a loop's element",
    reference: "Shown as they are written",
    choice: "better",
    sluice: "The characters that they stand for: `é`, `/`",
    why: "Names are for people, and many programs write all of their JSON like this",
    shown:
      "src/simulation/loop_items.test.ts: an element has the same name however its characters are written in JSON",
  },
  {
    subject: "Manual retry with other parameters, and a loop that had succeeded before the failure",
    reference:
      "In a Steps template, new elements of the loop begin beside the step that is retried; in a DAG none do",
    choice: "better",
    sluice:
      "None do, in Steps templates and DAGs; a loop that is opened again has its new elements",
    why:
      "What comes after the loop has its results already; it must not begin before the loop ends",
    shown:
      "src/simulation/node_tree.test.ts: a manual retry with other parameters begins no elements of a loop that had succeeded before the failure",
  },
  {
    subject: "Result of another workflow that a memoized step takes, and its `globalName`",
    reference: "Published in a DAG, but not in a Steps template",
    choice: "better",
    sluice: "Published in both",
    why: "Whether a result is new or taken must not change what comes after it",
    shown:
      "src/simulation/memoization.test.ts: a result that another workflow left is also a global output of the one that takes it",
  },
  {
    subject: "Memoized Steps template, DAG or step with a retry strategy, while it runs",
    reference: "Pending, so hooks that wait for Running never run",
    choice: "better",
    sluice: "Running",
    why: "It runs, and hooks are there to see it",
    shown: "src/simulation/memoization.test.ts: hooks see a memoized template with %s running",
  },
  {
    subject:
      "Hooks of a loop that name the status or outputs of their own step; exit handlers that take the result of theirs",
    reference:
      "In a loop, tags are an error and conditions never hold; the tag of the result is passed on as written",
    choice: "better",
    sluice: "They mean the element, and the result is filled in like output parameters",
    why: "When a hook begins, these are known, and nothing else can be meant",
    shown:
      "src/simulation/late_hooks.test.ts: an exit handler gets the result of its step, and in a loop the status of its element",
  },
  {
    subject: "Memoized resubmit: copies of nodes that never run",
    reference: "Stay Pending, even when the workflow has ended",
    choice: "better",
    sluice:
      "Skipped when the workflow succeeds; Failed if they are earlier attempts, or if a failed workflow did not reach them. None of them takes a place",
    why: "A finished workflow must have no waiting nodes",
    shown:
      "src/simulation/memoized_resubmit.test.ts: what a workflow that succeeds does not come to is skipped, and attempts that are not repeated have failed",
  },
  {
    subject: "Memoized resubmit: hooks of a step that is left out",
    reference: "Copied, as nodes without a parent",
    choice: "better",
    sluice: "Left out with the step; they start again with it",
    why: "Nothing would ever run them, and a retry could not find the step that they belong to",
    shown:
      "src/simulation/memoized_resubmit.test.ts: the exit handler of a task that could not begin is left out with it",
  },
  {
    subject: "`AllFailed` and `AnySucceeded` of a loop with hooks",
    reference: "Hooks count as elements",
    choice: "better",
    sluice: "Only the elements count",
    why: "The condition is about what the loop did; a hook only watches",
    shown:
      "src/simulation/loop_hooks.test.ts: what a dependency asks of all elements of a loop is not asked of its hooks",
  },
  {
    subject: "Exit handlers of a loop in a DAG whose `when` is malformed, and which ends the DAG",
    reference: "Don't run if the DAG ends in the same round",
    choice: "better",
    sluice: "Run",
    why: "Clean-up must not depend on how much else goes on",
    shown:
      "src/simulation/loop_hooks.test.ts: exit handlers of a loop run although nothing in it could",
  },
  {
    subject: "JSONPath filter with a word without quotes: `@.name == abc`",
    reference: "Selects nothing, whatever the name is",
    choice: "better",
    sluice: "An error that shows the filter",
    why: "The quotes were forgotten; nobody would notice",
    shown:
      "src/expr/jsonpath/jsonpath.test.ts: a filter that compares with a word without quotes is refused",
  },
  {
    subject: "Outputs that are stored unpacked, whose paths end with the same name",
    reference: "Have the same key: the later one overwrites the earlier one",
    choice: "better",
    sluice: "The later ones have the artifact's name before that of the file",
    why: "Nobody means to lose an output",
    shown:
      "test/contract/artifacts/artifacts.test.ts: outputs that are stored unpacked under the same name get a key each",
  },
  {
    subject: "A memoization cache that grows",
    reference: "Grows until its ConfigMap holds no more (1 MiB)",
    choice: "better",
    sluice: "Keeps the newest entries, up to 1,000,000 bytes",
    why:
      "Each entry that is saved writes the whole cache, and what was used long ago is missed least",
    shown:
      "src/actors/memo.test.ts: a cache keeps the newest entries, as many as a ConfigMap holds",
  },
  {
    subject: "Memoized outputs without a result, because nobody referred to it when they were made",
    reference: "Are taken, and what refers to the result never begins",
    choice: "better",
    sluice: "Count as a miss for a step to whose result something refers",
    why: "Only running the step again gives the result",
    shown:
      "src/simulation/memoization.test.ts: a memoized result is taken by whoever wants it, from a workflow that ran before too",
  },
  {
    subject: "Memoized resubmit: results of the former run",
    reference:
      "Lost for a loop of which only some elements run again; tags know the global outputs of steps, but the workflow does not show them",
    choice: "better",
    sluice: "A loop has the results of all its elements; global outputs are shown",
    why: "The request asks for these results to be kept",
    shown:
      "src/simulation/memoized_resubmit.test.ts: a loop of which one element runs again has the results of all",
  },
  {
    subject: "Semaphore of size 0",
    reference:
      "Workflows fail if nobody has used it since the controller started; otherwise they wait",
    choice: "better",
    sluice: "They wait until its size is raised",
    why: "Size 0 is a way to hold back everything that uses it; a restart must not change that",
    shown:
      "src/simulation/lock_status.test.ts: a semaphore of size 0 makes steps and workflows wait until it is larger",
  },
  {
    subject: "Argument of a workflow with an expression that asks for the time or for chance",
    reference: "Evaluated anew wherever it is used, so each step sees another value",
    choice: "better",
    sluice: "The same everywhere; its time is that of the workflow's creation",
    why: "An argument is one value: a run's id, or the day that it is about",
    shown:
      "src/simulation/loop_places.test.ts: an argument that an expression gives is the same wherever it is used",
  },
  {
    subject: "Expression of a loop that can't be evaluated",
    reference: "Passed on as written, and refused because the list is not JSON",
    choice: "better",
    sluice: "Fails, with the error of the expression as its message",
    why: "The message names the cause",
    shown: "an expression of a loop that can't be evaluated is told as what it is",
  },
  {
    subject: "Expression of an argument that can't be evaluated",
    reference: "Passed on as written",
    choice: "same",
    sluice: "Passed on as written",
    why:
      "Tags that a later template fills in look the same, and manifests rely on that. `sluice expr` and lint help to find typing errors",
    shown: "an expression that can't be evaluated stays in an argument as it is written",
  },
  {
    subject: "Message of a stop without a selector",
    reference: "Dropped",
    choice: "better",
    sluice:
      "Kept, behind the words of the reference: `Stopped with strategy 'Stop': the job is gone`",
    why: "Whoever stops a workflow says why for those who look at it later",
    shown: "src/engine/engine.test.ts: a workflow that is ended by %j says so",
  },
  {
    subject: "Stop before a next step that `continueOn` allows",
    reference: "The step is started and failed at once",
    choice: "same",
    sluice: "The step gets a failed node; no task is started",
    why: "The tree shows what was not done",
    shown: "stop goes on to the step that continueOn allows, and fails it at once",
  },
  {
    subject: "`failFast` and other branches",
    reference: "Running branches continue with their next tasks",
    choice: "same",
    sluice: "The same",
    why: "Otherwise the results of long branches would be lost; manifests rely on it",
    shown: "failFast lets a branch that runs go on",
  },
  {
    subject: "Malformed `depends`",
    reference: "Found when the DAG runs",
    choice: "same",
    sluice: "The task ends with an error that shows the place",
    why: "Creation accepts and refuses the same manifests as the reference",
    shown: "a malformed depends ends the workflow when it is run",
  },
  {
    subject: "`enum` of a parameter of a stored template",
    reference: "Not enforced on the workflow that runs it",
    choice: "same",
    sluice: "The same",
    why: "Sluice accepts every workflow that the reference accepts",
    shown: "the enum of a stored template's parameter does not bind who runs it",
  },
  {
    subject: "Answer to a waiting step that is not among the `enum` of its input",
    reference: "Accepted; the choices are for forms",
    choice: "same",
    sluice: "The same",
    why: "Programs that answer for people send reasons and values that nobody listed",
    shown:
      "src/simulation/outputs.test.ts: a waiting step takes an answer that is not among the choices of its input",
  },
  {
    subject: "Cron schedule on a day when a clock change skips or repeats midnight",
    reference:
      "Due times of that day are left out, for years in a yearly schedule; some come on a wrong day, or again and again",
    choice: "better",
    sluice: "Due at every matching local time that exists",
    why: "A run on Friday at nine has nothing to do with the clock change at midnight",
    shown: "src/spec/cron_schedule.test.ts: is due on a day whose midnight the clock skips",
  },
  {
    subject: "`findLast` and `findLastIndex` inside a larger expression",
    reference: "`1 + findLast([1], true)` fails, and `['a', findLast([1], true)]` is `[true, 1]`",
    choice: "better",
    sluice: "2 and `['a', 1]`",
    why: "The reference forgets a value on its stack; nobody can rely on that",
    shown: "src/expr/language/known_types.test.ts: findLast leaves nothing behind",
  },
  {
    subject: "`sprig.nospace` of a text that is not ASCII",
    reference: "Reads its bytes as Latin-1: `é a` becomes `Ã©a`",
    choice: "better",
    sluice: "`éa`",
    why: "The function should remove only blanks",
    shown: "src/expr/functions/sprig.test.ts: nospace keeps letters that are not ASCII",
  },
  {
    subject: "Event parameter that is a text",
    reference: "Keeps the escapes of its JSON form",
    choice: "better",
    sluice: "The text as it is",
    why: "Quotation marks and line breaks arrive unchanged",
    shown: "src/events/match.test.ts: valueFrom: {event: payload.text}",
  },
  {
    subject: "Event parameter that is missing or nil",
    reference: "The text `null`",
    choice: "same",
    sluice: "The text `null`",
    why: "Templates test for this text",
    shown: "src/events/match.test.ts: valueFrom: {event: payload.none}",
  },
];

/** A difference of the API, made on purpose. */
export interface ApiDecision {
  place: string;
  reference: string;
  sluice: string;
  /** A request that shows it on an empty server, and the status it gets. */
  check?: {
    method: "GET" | "POST" | "PUT" | "DELETE";
    path: string;
    body?: unknown;
    status: number;
  };
  /** Otherwise a test, as `file: name`. */
  shown?: string;
}

const HTTP_TESTS = "test/contract/http/http.test.ts";
const EVENT_TESTS = "test/contract/service/events/events.test.ts";

export const API_DECISIONS: readonly ApiDecision[] = [
  {
    place: "Events",
    reference: "Dispatched while the sender waits; one bad binding gives 500",
    sluice: "Queued and answered at once; the delivery record says what each binding did with it",
    shown: `${EVENT_TESTS}: what is wrong with one binding is its own outcome`,
  },
  {
    place: "Events: the queue is full",
    reference: "With asynchronous dispatch events may be lost",
    sluice: "Refused, so that the sender tries again; accepted events are durable",
    shown: `${HTTP_TESTS}: events are accepted until the queue is full`,
  },
  {
    place: "Events: name of the workflow",
    reference: "Five random letters",
    sluice:
      "A timestamp and a hash of event and binding, or only the hash if the binding has a `generateName`: an event makes its workflow once",
    shown:
      `${EVENT_TESTS}: a repeat finds what the first try made, also when the binding has changed`,
  },
  {
    place: "Events: CloudEvents",
    reference:
      "A structured event is a payload like any other; a binary one shows none of its attributes",
    sluice:
      "`payload` is the data in every mode, and `metadata` has the attributes as `ce-…`; id and source make a repeat harmless; batches are accepted",
    shown:
      "test/contract/service/events/cloud_events.test.ts: bindings read attributes and data; a trial too",
  },
  {
    place: "Events: payloads of any kind",
    reference:
      "Each expression is checked against the type of each payload: `payload.x` fails for `[1]`, even behind a guard",
    sluice:
      "Checked once, when the binding is stored; guards are evaluated first, and a member that a payload lacks is nil",
    shown:
      "src/events/match.property.test.ts: what a discriminator or a guard excludes is no error, whatever stands behind it",
  },
  {
    place: "Events without a credential, where one is needed",
    reference: "403 as plain text without a code: `failed to process webhook request`",
    sluice: "403 as JSON with code 7 and a message that says what is missing",
    shown:
      "test/contract/service/events/events.test.ts: a signed event needs no credential, and is queued with its sender's identity",
  },
  {
    place: "Requests with a body, without a valid credential",
    reference: "Some bodies are checked first: 400",
    sluice: "401 before any of the body is read",
    shown:
      "test/contract/auth/auth_matrix.test.ts: every declared route has one rule, and no rule is without its route",
  },
  {
    place: "Namespaces in paths",
    reference: "Any text, if no object is stored",
    sluice: "400 for text that can't be a namespace",
    shown: "test/contract/http/request_bodies.test.ts: $method $path takes no other names",
  },
  {
    place: "Large bodies and manifests",
    reference: "Limited by the cluster's API server",
    sluice:
      "At most 4 MiB, 250,000 members, 1,000 labels of a workflow, 256 characters of a quantity, 15 s for the check",
    shown:
      "test/contract/http/request_bodies.test.ts: %s by the hundred thousand are refused on every route, at little cost",
  },
  {
    place: "Event bindings",
    reference: "Listed only; written as cluster objects",
    sluice: "Create, get, update, delete and lint",
    check: { method: "GET", path: "/api/v1/workflow-event-bindings/default/none", status: 404 },
  },
  {
    place: "Create, submit, control, events",
    reference: "A repeat after a lost answer has a second effect",
    sluice: "`Idempotency-Key`: the same answer and one effect",
    shown:
      `${HTTP_TESTS}: the same idempotency key gives the same answer and one effect; another body is refused`,
  },
  {
    place: "Bodies",
    reference: "A form content type can reach another method's handler",
    sluice: "The method decides; the body is JSON, whatever its content type",
    shown:
      `${HTTP_TESTS}: bodies are read whatever their type, and bad ones are the caller's fault`,
  },
  {
    place: "Unknown paths",
    reference: "501 below `/api`, elsewhere the pages' HTML with 200",
    sluice:
      "501 below `/api`, with the headers `Allow` and `Warning` if the path takes other methods or another end; elsewhere 404",
    shown: `${HTTP_TESTS}: what is not a route answers 501 below /api and 404 elsewhere`,
  },
  {
    place: "Watch",
    reference: "Can't be resumed",
    sluice:
      "Resumes from a `resourceVersion`; one that the store has not given yet is refused, so that the client lists again",
    shown: `${HTTP_TESTS}: a watch goes on from a version, and ends by itself after its time`,
  },
  {
    place: "Lint of a workflow that is not valid",
    reference: "500",
    sluice: "400, same text",
    check: {
      method: "POST",
      path: "/api/v1/workflows/default/lint",
      body: { workflow: { metadata: { name: "x" }, spec: { entrypoint: "none" } } },
      status: 400,
    },
  },
  {
    place: "List with a malformed label selector",
    reference: "500",
    sluice: "400",
    check: {
      method: "GET",
      path: "/api/v1/workflows/default?listOptions.labelSelector=a%20in",
      status: 400,
    },
  },
  {
    place: "Creation of a cron workflow without a body",
    reference: "404",
    sluice: "400",
    check: { method: "POST", path: "/api/v1/cron-workflows/default", body: {}, status: 400 },
  },
  {
    place: "Creation of a workflow without a body",
    reference: "500 or 400",
    sluice: "400",
    check: { method: "POST", path: "/api/v1/workflows/default", body: {}, status: 400 },
  },
  {
    place: "`logOptions.sinceTime` as a time",
    reference: "Refused",
    sluice: "Accepted; this request is refused because the workflow does not exist",
    check: {
      method: "GET",
      path: "/api/v1/workflows/default/none/log?logOptions.sinceTime=2026-01-31T12:00:00Z",
      status: 404,
    },
  },
  {
    place: "Type of a sync limit",
    reference: "A number only",
    sluice: "The number or its name",
    check: {
      method: "GET",
      path: "/api/v1/sync/default/none?type=CONFIGMAP&cmName=none",
      status: 404,
    },
  },
  {
    place: "An artifact of a workflow that does not exist",
    reference: "500, plain text",
    sluice: "404",
    check: { method: "GET", path: "/artifacts/default/none/none/main-logs", status: 404 },
  },
  {
    place: "Mistakes of the caller: selectors, times, parameters, labels, outputs, a bad `grep`",
    reference: "500, some with the prefix `timed out waiting for the condition:`",
    sluice: "400, 404 or 409 with the same text, without the prefix",
    check: { method: "GET", path: "/api/v1/workflows/default?createdAfter=zzz", status: 400 },
  },
  {
    place: "Get with another `uid`",
    reference: "500",
    sluice: "404, or the archived workflow that has it",
    check: { method: "GET", path: "/api/v1/workflows/default/none?uid=x", status: 404 },
  },
  {
    place: "Lists: continue",
    reference:
      "An offset: pages skip and repeat when something changes, and the token may be missing",
    sluice:
      "A cursor that stays valid, a decimal number like the reference's; offsets are understood",
    shown:
      "test/contract/store/describe_query.ts: changes between pages make it neither skip nor repeat what stays",
  },
  {
    place: "Creation of a workflow with a `status`, such as one that was read from another server",
    reference: "Kept: one that says that it has ended never runs",
    sluice: "Ignored: the workflow begins anew. An import takes over what has ended",
    shown: `${HTTP_TESTS}: a new workflow begins anew, whatever status its manifest has`,
  },
  {
    place: "Unknown members of a body",
    reference: "Ignored",
    sluice:
      "Ignored, or refused if `createOptions.fieldValidation` is `Strict`; a value of that which Kubernetes does not know is refused",
    shown: `${HTTP_TESTS}: what nobody knows is ignored, or refused when a creation asks for it`,
  },
  {
    place: "Creation of a template or a cron workflow with `createOptions.dryRun`",
    reference: "Stored all the same",
    sluice: "Checked and answered, but not stored",
    shown: "test/contract/http/manifest_dry_runs.test.ts: a dry run at %s stores nothing",
  },
  {
    place: "A list or an object as the value of a parameter",
    reference: "Taken for the empty text",
    sluice: "400; the message shows how to write it as a text",
    shown: "src/spec/schema/decode.test.ts: an object for a parameter's value",
  },
  {
    place: "Unknown members of a body that changes a workflow, and selectors with only empty terms",
    reference: "Ignored: a misspelt selector resumes or stops everything",
    sluice: "400; the message suggests the name that was probably meant",
    shown:
      "test/contract/http/control_bodies.test.ts: the case of members is ignored, and a call may have no body",
  },
  {
    place:
      "Members of these bodies that stand in the query: `PUT …/stop?nodeFieldSelector=displayName=a`",
    reference: "Ignored: the whole workflow is stopped",
    sluice: "400 that says where they belong; nothing is done",
    shown: "test/contract/http/control_bodies.test.ts: a member that stands in the query",
  },
  {
    place: "A node field selector with an empty value, such as `inputs.parameters.uuid.value=`",
    reference:
      "Selects every node that has no such parameter, or any node if the field is misspelt",
    sluice:
      "Selects only nodes whose parameter is empty; for a field that no node has, the refusal lists the fields",
    shown: "src/engine/engine.test.ts: is not ended by a request whose id is empty",
  },
  {
    place: "Update of a template under another template's path",
    reference: "The path is ignored; the object that the body names is changed",
    sluice: "400; if the name in the path is empty, the body's is used",
    check: {
      method: "PUT",
      path: "/api/v1/workflow-templates/default/a",
      body: {
        template: { metadata: { name: "b", resourceVersion: "1" }, spec: { entrypoint: "x" } },
      },
      status: 400,
    },
  },
  {
    place: "Archive",
    reference: "A database of copies; the live list, then its rows",
    sluice:
      "Finished workflows of the same store that `--archive-selector` selects; with `--archive-deleted` also deleted ones, until `--archive-ttl` is over",
    shown:
      "test/contract/service/workflows/archive.test.ts: a ttlStrategy deletes into the archive, where time ends all; the selector keeps some out",
  },
  {
    place: "Archive: name with `nameFilter=Exact`",
    reference: "Other names with this prefix are found too",
    sluice: "Only this name",
    shown:
      "test/contract/http/http.test.ts: lists finished workflows without their templates, and finds them by uid",
  },
  {
    place: "Archive: retry",
    reference: "A new uid under the old name",
    sluice: "The same object, so that links stay valid",
    shown:
      "test/contract/service/workflows/archive.test.ts: a deleted workflow is found by name and uid, listed in rows, and comes back by a retry",
  },
  {
    place: "Archive: label keys and values",
    reference: "Shown to every user, of all namespaces",
    sluice: "Need the right to list workflows there",
    shown: "test/contract/auth/auth_matrix.test.ts: no right",
  },
  {
    place: "Wait for a workflow that only the archive has",
    reference: "The watch stays empty; the client waits for ever",
    sluice: "The finished workflow comes first",
    shown:
      "test/contract/service/workflows/archive.test.ts: a deleted workflow is found by name and uid, listed in rows, and comes back by a retry",
  },
  {
    place: "Wait for a workflow that is deleted",
    reference: "The watch goes on; `argo wait` waits for ever",
    sluice:
      "A watch of one workflow from the beginning ends after the deletion. `argo wait` opens another, is told that there is no such workflow, and exits with 1; `sluice wait` says that it was deleted, and exits with 1",
    shown:
      "src/service/workflows/watch.test.ts: a watch of one workflow from the beginning ends when that is deleted",
  },
  {
    place: "Stored templates that a manifest reaches",
    reference: "Read with the server's rights, no matter who submits or checks the manifest",
    sluice: "The sender needs the right to get each of them",
    shown:
      "test/contract/auth/template_rights.test.ts: a submission needs to get the template, or the cron workflow and what it reaches",
  },
  {
    place: "Lint and dry runs",
    reference: "Need no rights",
    sluice: "Need the rights of what they simulate",
    shown:
      "test/contract/auth/template_rights.test.ts: nothing is judged for a caller without the right to it",
  },
  {
    place: "Artifacts: keys in the server's repository",
    reference: "`WORKFLOW/POD/…`; every namespace may use every key",
    sluice:
      "`NAMESPACE/WORKFLOW/POD/…`; a namespace may use only its own, or all with `--artifact-keys shared`",
    shown:
      "test/contract/artifacts/artifact_tenancy.test.ts: both find their own, neither the other's, by whatever way",
  },
  {
    place: "Artifacts: refusals",
    reference:
      "Plain text: 500 for an artifact that does not exist, 401 for one that is not allowed",
    sluice: "JSON: 404 and 403",
    shown:
      "test/contract/service/artifacts/artifact_files.test.ts: what is not there is 404, what makes no sense 400, and what is not allowed 403",
  },
  {
    place: "Artifacts: page of a folder",
    reference: "Links to folders at every depth",
    sluice: "Links to what lies directly in it",
    shown:
      "test/contract/service/artifacts/artifact_files.test.ts: a folder is shown as a page of links, and its files are served without rights",
  },
  {
    place: "Events stream",
    reference: "The events that Kubernetes keeps",
    sluice:
      "Derived from the phases of workflows and nodes on all replicas, starting with the last hour; nodes only if a workflow is selected",
    shown:
      "test/contract/service/events/event_feed.test.ts: follow() tells what other replicas did before and do now, each once",
  },
  {
    place: "Events without webhook secret and credential, authentication off",
    reference: "403",
    sluice: "Accepted",
    check: { method: "POST", path: "/api/v1/events/default/any", body: {}, status: 200 },
  },
  {
    place: "Webhook senders",
    reference:
      "Only event names that its library knows; an empty secret lets everybody in; the account needs a token",
    sluice:
      "Any signed event, whatever it is called; an empty secret is refused; the account needs no token",
    shown:
      "src/auth/webhook_signature.test.ts: what an event is called does not matter: senders get new ones",
  },
  {
    place: "`@every 90s` in a schedule",
    reference: "Counts from the moment when the controller first saw it",
    sluice:
      "Counts from the creation of the cron workflow, so neither a restart nor an edit of another field moves the due times",
    shown:
      "src/events/cron.test.ts: keeps the rhythm of an interval beside other schedules, from wherever one looks",
  },
  {
    place: "`estimatedDuration`",
    reference: "For the workflow and each node",
    sluice: "For the workflow, from the last success with the same template or cron workflow",
    shown:
      "test/contract/service/workflows/duration_estimates.test.ts: of() tells what the last success from the same template took",
  },
  {
    place: "The server's address in a browser",
    reference: "The user interface, on every path that is not the API's",
    sluice:
      "The list of workflows, with pages of its own (docs/ui.md); the reference's pages are below `/argo/`; unknown paths are 404",
    shown:
      `${HTTP_TESTS}: the address of the server shows the workflows, and unknown paths are not found`,
  },
  {
    place: "Limit on requests",
    reference: "One for all clients behind the gateway",
    sluice: "A limit for each sender (`--api-rate-limit`)",
    shown: `${HTTP_TESTS}: a sender that is too fast is told to wait, others are not`,
  },
  {
    place: "Pages of other origins in a browser",
    reference: "May send requests that change something, but not read the answers",
    sluice: "Refused, unless `--access-control-allow-origin` names them",
    shown:
      "test/contract/http/http_hardening.test.ts: strange pages may not change anything, own and allowed ones may",
  },
  {
    place: "`/metrics` without a valid token",
    reference: "403 with an empty body",
    sluice: "403 with the usual body of an error; 503 while tokens can't be checked",
    shown: "test/contract/auth/auth_matrix.test.ts: who may not read the metrics is told why",
  },
  {
    place: "Message of a step whose pod is ended by a drain, a preemption, a taint or by hand",
    reference: "`main: Error (exit code 143)`",
    sluice:
      "The same, followed by what the cluster says of it (`: EvictionByEvictionAPI: Eviction API: evicting`) or `: pod deleted`",
    shown:
      "src/executors/kubernetes/outcome.test.ts: a container that is ended with its pod says who ended the pod",
  },
  {
    place: "Logs of steps whose pod is gone",
    reference: "Empty",
    sluice: "From the archived log, if the template archives it",
    shown:
      "src/service/logs/logs.test.ts: lines that the executor no longer has come from the archive",
  },
  {
    place: "Lists without a limit",
    reference: "Everything in one answer",
    sluice:
      "A page of at most about 16 MiB of stored text, but at least one object, with a continue token",
    shown:
      "test/contract/store/large_workflows.test.ts: a list without a limit ends when it is full, with a token to go on from",
  },
  {
    place: "Schedules of a cron workflow",
    reference: "Any number, of any length",
    sluice: "At most 100, of at most 1,000 characters each",
    shown: "src/events/cron.test.ts: are at most a hundred, of at most a thousand characters",
  },
  {
    place: "Deletion of a cron workflow",
    reference:
      "The cluster then deletes its workflows; `Orphan` leaves them without their owner, `Foreground` waits for them",
    sluice:
      "Its workflows in the store are deleted too, a moment later; `Orphan` (or `orphanDependents`) leaves them as they are, and `Foreground` works like `Background`. What has moved to the archive stays",
    shown:
      "test/contract/service/cron/runs.test.ts: the workflows of a deleted cron workflow go with it, whether they have ended or not",
  },
  {
    place: "Deletion of a workflow that owns others",
    reference: "The cluster deletes what belongs to it, and to nothing else that is there",
    sluice:
      "Workflows in the store that belong to it are deleted too, a moment later, also when a `ttlStrategy` or the archive's retention deletes it; `Orphan` leaves them as they are, and `Foreground` works like `Background`. What has moved to the archive stays, and so does a workflow whose owner was never here",
    shown:
      "test/contract/service/workflows/owned_workflows.test.ts: those of a deleted workflow, and theirs in turn",
  },
  {
    place: "Stored objects that cannot be read",
    reference: "Left out of lists, with a line in the controller's log",
    sluice:
      "Shown in phase Error with a message (templates, bindings and cron workflows with an annotation `unreadable`); they can be deleted",
    shown:
      "test/contract/store/unreadable_records.test.ts: a list shows them all, those that cannot be read in phase Error with a message",
  },
];
