// deno-fmt-ignore-file
/**
 * Every operation of the API, by its name in `/openapi.json`. Generated from the declared routes by
 * `deno run -A tools/client_operations.ts`; a test compares it with them.
 */
import type { Json, JsonObject } from "../base/json.ts";
import type { ClusterWorkflowTemplate, ConfigMap, CronWorkflow, Subscription, Workflow, WorkflowEventBinding, WorkflowTemplate } from "../spec/manifest.ts";
import type { Change, List, LogLine } from "./answer.ts";

type CreateOptions = { dryRun?: string[] | undefined; fieldManager?: string | undefined; fieldValidation?: string | undefined };

/** Path parameters, query, body and answer of each operation; of a stream, `answer` is one frame. */
export interface Operations {
  /** How many archived workflows ended on each day, by namespace, phase and template. */
  ArchivedWorkflowService_CountArchivedWorkflows: {
    kind: "unary";
    params: Record<never, never>;
    query: { "namespace"?: string | undefined; "from"?: string | undefined; "to"?: string | undefined };
    body: undefined;
    answer: JsonObject;
  };
  /** Delete an archived workflow. */
  ArchivedWorkflowService_DeleteArchivedWorkflow: {
    kind: "unary";
    params: { uid: string };
    query: { "namespace"?: string | undefined; "name"?: string | undefined };
    body: undefined;
    answer: JsonObject;
  };
  /** Get an archived workflow by its uid, or by name and namespace when the uid is empty. */
  ArchivedWorkflowService_GetArchivedWorkflow: {
    kind: "unary";
    params: { uid: string };
    query: { "namespace"?: string | undefined; "name"?: string | undefined; "exactTimes"?: boolean | undefined };
    body: undefined;
    answer: Workflow;
  };
  /** Label keys of archived workflows. */
  ArchivedWorkflowService_ListArchivedWorkflowLabelKeys: {
    kind: "unary";
    params: Record<never, never>;
    query: { "namespace"?: string | undefined };
    body: undefined;
    answer: JsonObject;
  };
  /** Values of the label key that `listOptions.labelSelector` names. */
  ArchivedWorkflowService_ListArchivedWorkflowLabelValues: {
    kind: "unary";
    params: Record<never, never>;
    query: { "listOptions.labelSelector": string; "listOptions.fieldSelector"?: string | undefined; "listOptions.watch"?: boolean | undefined; "listOptions.allowWatchBookmarks"?: boolean | undefined; "listOptions.resourceVersion"?: string | undefined; "listOptions.resourceVersionMatch"?: string | undefined; "listOptions.timeoutSeconds"?: number | undefined; "listOptions.limit"?: number | undefined; "listOptions.continue"?: string | undefined; "listOptions.sendInitialEvents"?: boolean | undefined; "namespace"?: string | undefined };
    body: undefined;
    answer: JsonObject;
  };
  /** List archived workflows. */
  ArchivedWorkflowService_ListArchivedWorkflows: {
    kind: "unary";
    params: Record<never, never>;
    query: { "listOptions.labelSelector"?: string | undefined; "listOptions.fieldSelector"?: string | undefined; "listOptions.watch"?: boolean | undefined; "listOptions.allowWatchBookmarks"?: boolean | undefined; "listOptions.resourceVersion"?: string | undefined; "listOptions.resourceVersionMatch"?: string | undefined; "listOptions.timeoutSeconds"?: number | undefined; "listOptions.limit"?: number | undefined; "listOptions.continue"?: string | undefined; "listOptions.sendInitialEvents"?: boolean | undefined; "namespace"?: string | undefined; "namePrefix"?: string | undefined; "nameFilter"?: string | undefined; "exactTimes"?: boolean | undefined };
    body: undefined;
    answer: List<Workflow>;
  };
  /** Remove some of the archived workflows whose time is over; go on with `continue`. */
  ArchivedWorkflowService_PruneArchivedWorkflows: {
    kind: "unary";
    params: Record<never, never>;
    query: Record<never, never>;
    body: { rules?: string | undefined; dryRun?: boolean | undefined; continue?: string | undefined };
    answer: JsonObject;
  };
  /** Run an archived workflow again under a new name. */
  ArchivedWorkflowService_ResubmitArchivedWorkflow: {
    kind: "unary";
    params: { uid: string };
    query: Record<never, never>;
    body: { uid?: string | undefined; name?: string | undefined; namespace?: string | undefined; memoized?: boolean | undefined; parameters?: string[] | undefined };
    answer: Workflow;
    hasMinimal: true;
  };
  /** Run the failed steps of an archived workflow again. */
  ArchivedWorkflowService_RetryArchivedWorkflow: {
    kind: "unary";
    params: { uid: string };
    query: Record<never, never>;
    body: { uid?: string | undefined; name?: string | undefined; namespace?: string | undefined; restartSuccessful?: boolean | undefined; nodeFieldSelector?: string | undefined; parameters?: string[] | undefined };
    answer: Workflow;
    hasMinimal: true;
  };
  /** Download an artifact; of one that was stored as a folder, go to the list of its files. */
  ArtifactService_GetArtifactFile: {
    kind: "download";
    params: { namespace: string; idDiscriminator: string; id: string; nodeId: string; artifactDiscriminator: string; artifactName: string };
    query: Record<never, never>;
    body: undefined;
    answer: Uint8Array;
  };
  /** Download a file of an artifact that was stored as a folder; with a slash at the end, list it. */
  ArtifactService_GetFileOfArtifact: {
    kind: "download";
    params: { namespace: string; idDiscriminator: string; id: string; nodeId: string; artifactDiscriminator: string; artifactName: string; path: string };
    query: Record<never, never>;
    body: undefined;
    answer: Uint8Array;
  };
  /** Download an artifact of a step's inputs. */
  ArtifactService_GetInputArtifact: {
    kind: "download";
    params: { namespace: string; name: string; nodeId: string; artifactName: string };
    query: Record<never, never>;
    body: undefined;
    answer: Uint8Array;
  };
  /** Download an artifact of a step's inputs, the workflow found by its uid. */
  ArtifactService_GetInputArtifactByUID: {
    kind: "download";
    params: { uid: string; nodeId: string; artifactName: string };
    query: Record<never, never>;
    body: undefined;
    answer: Uint8Array;
  };
  /** Download an artifact of a step's outputs. */
  ArtifactService_GetOutputArtifact: {
    kind: "download";
    params: { namespace: string; name: string; nodeId: string; artifactName: string };
    query: Record<never, never>;
    body: undefined;
    answer: Uint8Array;
  };
  /** Download an artifact of a step's outputs, the workflow found by its uid. */
  ArtifactService_GetOutputArtifactByUID: {
    kind: "download";
    params: { uid: string; nodeId: string; artifactName: string };
    query: Record<never, never>;
    body: undefined;
    answer: Uint8Array;
  };
  /** Upload a file for an argument of a workflow template; the answer's key goes into `submitOptions.artifacts`. */
  ArtifactService_UploadArtifact: {
    kind: "upload";
    params: { namespace: string; templateName: string; artifactName: string };
    query: Record<never, never>;
    body: undefined;
    answer: JsonObject;
  };
  /** Which keys of callback URLs are accepted, and which one signs; never the keys themselves. */
  CallbackKeyService_ListCallbackKeys: {
    kind: "unary";
    params: Record<never, never>;
    query: Record<never, never>;
    body: undefined;
    answer: { items?: { id?: string | undefined; signs?: boolean | undefined; signsFrom?: string | undefined; acceptedUntil?: string | undefined }[] | undefined };
  };
  /** Make a new key for callback URLs; earlier keys are accepted until their URLs have expired, or as long as you say. */
  CallbackKeyService_RotateCallbackKeys: {
    kind: "unary";
    params: Record<never, never>;
    query: Record<never, never>;
    body: { acceptEarlier?: string | undefined };
    answer: { items?: { id?: string | undefined; signs?: boolean | undefined; signsFrom?: string | undefined; acceptedUntil?: string | undefined }[] | undefined };
  };
  /** Let the timeout of a step begin anew. */
  CallbackService_Heartbeat: {
    kind: "unary";
    params: { token: string };
    query: Record<never, never>;
    body: { outputs?: Json | undefined; message?: string | undefined };
    answer: JsonObject;
  };
  /** End the wait of a step, with its outputs. */
  CallbackService_Resume: {
    kind: "unary";
    params: { token: string };
    query: Record<never, never>;
    body: { outputs?: Json | undefined; message?: string | undefined };
    answer: JsonObject;
  };
  /** Fail a step that waits, with a message. */
  CallbackService_Stop: {
    kind: "unary";
    params: { token: string };
    query: Record<never, never>;
    body: { outputs?: Json | undefined; message?: string | undefined };
    answer: JsonObject;
  };
  /** Store a new cluster workflow template. */
  ClusterWorkflowTemplateService_CreateClusterWorkflowTemplate: {
    kind: "unary";
    params: Record<never, never>;
    query: Record<never, never>;
    body: { name?: string | undefined; namespace?: string | undefined; template?: ClusterWorkflowTemplate | undefined; createOptions?: CreateOptions | undefined };
    answer: ClusterWorkflowTemplate;
  };
  /** Delete a cluster workflow template. */
  ClusterWorkflowTemplateService_DeleteClusterWorkflowTemplate: {
    kind: "unary";
    params: { name: string };
    query: { "deleteOptions.gracePeriodSeconds"?: number | undefined; "deleteOptions.orphanDependents"?: boolean | undefined; "deleteOptions.propagationPolicy"?: string | undefined; "deleteOptions.dryRun"?: string[] | undefined; "deleteOptions.preconditions.uid"?: string | undefined; "deleteOptions.preconditions.resourceVersion"?: string | undefined };
    body: undefined;
    answer: JsonObject;
  };
  /** Get a cluster workflow template. */
  ClusterWorkflowTemplateService_GetClusterWorkflowTemplate: {
    kind: "unary";
    params: { name: string };
    query: { "getOptions.resourceVersion"?: string | undefined };
    body: undefined;
    answer: ClusterWorkflowTemplate;
  };
  /** Check a cluster workflow template without storing it. */
  ClusterWorkflowTemplateService_LintClusterWorkflowTemplate: {
    kind: "unary";
    params: Record<never, never>;
    query: Record<never, never>;
    body: { name?: string | undefined; namespace?: string | undefined; template?: ClusterWorkflowTemplate | undefined; createOptions?: CreateOptions | undefined };
    answer: ClusterWorkflowTemplate;
  };
  /** List cluster workflow templates. */
  ClusterWorkflowTemplateService_ListClusterWorkflowTemplates: {
    kind: "unary";
    params: Record<never, never>;
    query: { "listOptions.labelSelector"?: string | undefined; "listOptions.fieldSelector"?: string | undefined; "listOptions.watch"?: boolean | undefined; "listOptions.allowWatchBookmarks"?: boolean | undefined; "listOptions.resourceVersion"?: string | undefined; "listOptions.resourceVersionMatch"?: string | undefined; "listOptions.timeoutSeconds"?: number | undefined; "listOptions.limit"?: number | undefined; "listOptions.continue"?: string | undefined; "listOptions.sendInitialEvents"?: boolean | undefined; "namePattern"?: string | undefined };
    body: undefined;
    answer: List<ClusterWorkflowTemplate>;
  };
  /** Replace a cluster workflow template; it must have the resourceVersion that it is based on. */
  ClusterWorkflowTemplateService_UpdateClusterWorkflowTemplate: {
    kind: "unary";
    params: { name: string };
    query: Record<never, never>;
    body: { name?: string | undefined; namespace?: string | undefined; template?: ClusterWorkflowTemplate | undefined; createOptions?: CreateOptions | undefined };
    answer: ClusterWorkflowTemplate;
  };
  /** Store a new cron workflow. */
  CronWorkflowService_CreateCronWorkflow: {
    kind: "unary";
    params: { namespace: string };
    query: Record<never, never>;
    body: { name?: string | undefined; namespace?: string | undefined; cronWorkflow?: CronWorkflow | undefined; createOptions?: CreateOptions | undefined };
    answer: CronWorkflow;
  };
  /** Delete a cron workflow. */
  CronWorkflowService_DeleteCronWorkflow: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: { "deleteOptions.gracePeriodSeconds"?: number | undefined; "deleteOptions.orphanDependents"?: boolean | undefined; "deleteOptions.propagationPolicy"?: string | undefined; "deleteOptions.dryRun"?: string[] | undefined; "deleteOptions.preconditions.uid"?: string | undefined; "deleteOptions.preconditions.resourceVersion"?: string | undefined };
    body: undefined;
    answer: JsonObject;
  };
  /** Get a cron workflow. */
  CronWorkflowService_GetCronWorkflow: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: { "getOptions.resourceVersion"?: string | undefined };
    body: undefined;
    answer: CronWorkflow;
  };
  /** Check a cron workflow without storing it. */
  CronWorkflowService_LintCronWorkflow: {
    kind: "unary";
    params: { namespace: string };
    query: Record<never, never>;
    body: { name?: string | undefined; namespace?: string | undefined; cronWorkflow?: CronWorkflow | undefined; createOptions?: CreateOptions | undefined };
    answer: CronWorkflow;
  };
  /** List cron workflows. */
  CronWorkflowService_ListCronWorkflows: {
    kind: "unary";
    params: { namespace: string };
    query: { "listOptions.labelSelector"?: string | undefined; "listOptions.fieldSelector"?: string | undefined; "listOptions.watch"?: boolean | undefined; "listOptions.allowWatchBookmarks"?: boolean | undefined; "listOptions.resourceVersion"?: string | undefined; "listOptions.resourceVersionMatch"?: string | undefined; "listOptions.timeoutSeconds"?: number | undefined; "listOptions.limit"?: number | undefined; "listOptions.continue"?: string | undefined; "listOptions.sendInitialEvents"?: boolean | undefined; "namePattern"?: string | undefined };
    body: undefined;
    answer: List<CronWorkflow>;
  };
  /** Switch a schedule on. */
  CronWorkflowService_ResumeCronWorkflow: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: Record<never, never>;
    body: { name?: string | undefined; namespace?: string | undefined };
    answer: CronWorkflow;
  };
  /** Switch a schedule off. */
  CronWorkflowService_SuspendCronWorkflow: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: Record<never, never>;
    body: { name?: string | undefined; namespace?: string | undefined };
    answer: CronWorkflow;
  };
  /** Replace a cron workflow; it must have the resourceVersion that it is based on. */
  CronWorkflowService_UpdateCronWorkflow: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: Record<never, never>;
    body: { name?: string | undefined; namespace?: string | undefined; cronWorkflow?: CronWorkflow | undefined; createOptions?: CreateOptions | undefined };
    answer: CronWorkflow;
  };
  /** Store a new event binding. */
  EventService_CreateWorkflowEventBinding: {
    kind: "unary";
    params: { namespace: string };
    query: Record<never, never>;
    body: { name?: string | undefined; namespace?: string | undefined; binding?: WorkflowEventBinding | undefined; createOptions?: CreateOptions | undefined };
    answer: WorkflowEventBinding;
  };
  /** Delete an event binding. */
  EventService_DeleteWorkflowEventBinding: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: { "deleteOptions.gracePeriodSeconds"?: number | undefined; "deleteOptions.orphanDependents"?: boolean | undefined; "deleteOptions.propagationPolicy"?: string | undefined; "deleteOptions.dryRun"?: string[] | undefined; "deleteOptions.preconditions.uid"?: string | undefined; "deleteOptions.preconditions.resourceVersion"?: string | undefined };
    body: undefined;
    answer: JsonObject;
  };
  /** Get the event of a delivery if it is kept, and why each binding selects it or not. */
  EventService_ExplainEventDelivery: {
    kind: "unary";
    params: { namespace: string; id: string };
    query: Record<never, never>;
    body: undefined;
    answer: JsonObject;
  };
  /** Say what event bindings have done with the newest events. */
  EventService_GetEventBindingActivity: {
    kind: "unary";
    params: { namespace: string };
    query: Record<never, never>;
    body: undefined;
    answer: JsonObject;
  };
  /** Get what became of an accepted event. */
  EventService_GetEventDelivery: {
    kind: "unary";
    params: { namespace: string; id: string };
    query: Record<never, never>;
    body: undefined;
    answer: JsonObject;
  };
  /** Get an event binding. */
  EventService_GetWorkflowEventBinding: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: { "getOptions.resourceVersion"?: string | undefined };
    body: undefined;
    answer: WorkflowEventBinding;
  };
  /** Check an event binding without storing it. */
  EventService_LintWorkflowEventBinding: {
    kind: "unary";
    params: { namespace: string };
    query: Record<never, never>;
    body: { name?: string | undefined; namespace?: string | undefined; binding?: WorkflowEventBinding | undefined; createOptions?: CreateOptions | undefined };
    answer: WorkflowEventBinding;
  };
  /** List what became of accepted events, newest first. */
  EventService_ListEventDeliveries: {
    kind: "unary";
    params: { namespace: string };
    query: { "state"?: string | undefined; "discriminator"?: string | undefined; "binding"?: string | undefined; "limit"?: number | undefined; "continue"?: string | undefined };
    body: undefined;
    answer: JsonObject;
  };
  /** List event bindings. */
  EventService_ListWorkflowEventBindings: {
    kind: "unary";
    params: { namespace: string };
    query: { "listOptions.labelSelector"?: string | undefined; "listOptions.fieldSelector"?: string | undefined; "listOptions.watch"?: boolean | undefined; "listOptions.allowWatchBookmarks"?: boolean | undefined; "listOptions.resourceVersion"?: string | undefined; "listOptions.resourceVersionMatch"?: string | undefined; "listOptions.timeoutSeconds"?: number | undefined; "listOptions.limit"?: number | undefined; "listOptions.continue"?: string | undefined; "listOptions.sendInitialEvents"?: boolean | undefined; "namePattern"?: string | undefined };
    body: undefined;
    answer: List<WorkflowEventBinding>;
  };
  /** Send an event: any JSON value, a CloudEvent, or a batch of them. It is queued, and bindings turn it into workflows. */
  EventService_ReceiveEvent: {
    kind: "unary";
    params: { namespace: string; discriminator: string };
    query: { "dryRun"?: boolean | undefined };
    body: Json;
    answer: JsonObject;
  };
  /** Put dead letters back into the queue until it is full. */
  EventService_ReplayEventDeliveries: {
    kind: "unary";
    params: { namespace: string };
    query: Record<never, never>;
    body: { namespace?: string | undefined; discriminator?: string | undefined; binding?: string | undefined; receivedAfter?: string | undefined; receivedBefore?: string | undefined };
    answer: JsonObject;
  };
  /** Put a dead letter back into the queue. */
  EventService_ReplayEventDelivery: {
    kind: "unary";
    params: { namespace: string; id: string };
    query: Record<never, never>;
    body: undefined;
    answer: JsonObject;
  };
  /** Say what a given or a stored event binding would do with an event, without doing it. */
  EventService_TestWorkflowEventBinding: {
    kind: "unary";
    params: { namespace: string };
    query: Record<never, never>;
    body: { namespace?: string | undefined; event?: { discriminator?: string | undefined; payload?: Json | undefined; metadata?: Record<string, string[]> | undefined } | undefined; binding?: WorkflowEventBinding | undefined; name?: string | undefined };
    answer: JsonObject;
  };
  /** Replace an event binding; it must have the resourceVersion that it is based on. */
  EventService_UpdateWorkflowEventBinding: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: Record<never, never>;
    body: { name?: string | undefined; namespace?: string | undefined; binding?: WorkflowEventBinding | undefined; createOptions?: CreateOptions | undefined };
    answer: WorkflowEventBinding;
  };
  /** Refused: there are no eventsources here. */
  EventSourceService_CreateEventSource: {
    kind: "unary";
    params: { namespace: string };
    query: Record<never, never>;
    body: undefined;
    answer: JsonObject;
  };
  /** Refused: there are no eventsources here. */
  EventSourceService_DeleteEventSource: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: Record<never, never>;
    body: undefined;
    answer: JsonObject;
  };
  /** A stream without lines. */
  EventSourceService_EventSourcesLogs: {
    kind: "stream";
    params: { namespace: string };
    query: { "listOptions.labelSelector"?: string | undefined; "listOptions.fieldSelector"?: string | undefined; "listOptions.watch"?: boolean | undefined; "listOptions.allowWatchBookmarks"?: boolean | undefined; "listOptions.resourceVersion"?: string | undefined; "listOptions.resourceVersionMatch"?: string | undefined; "listOptions.timeoutSeconds"?: number | undefined; "listOptions.limit"?: number | undefined; "listOptions.continue"?: string | undefined; "listOptions.sendInitialEvents"?: boolean | undefined };
    body: undefined;
    answer: JsonObject;
  };
  /** Not found: there are no eventsources here. */
  EventSourceService_GetEventSource: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: { "getOptions.resourceVersion"?: string | undefined };
    body: undefined;
    answer: JsonObject;
  };
  /** An empty list: there are no eventsources here. */
  EventSourceService_ListEventSources: {
    kind: "unary";
    params: { namespace: string };
    query: { "listOptions.labelSelector"?: string | undefined; "listOptions.fieldSelector"?: string | undefined; "listOptions.watch"?: boolean | undefined; "listOptions.allowWatchBookmarks"?: boolean | undefined; "listOptions.resourceVersion"?: string | undefined; "listOptions.resourceVersionMatch"?: string | undefined; "listOptions.timeoutSeconds"?: number | undefined; "listOptions.limit"?: number | undefined; "listOptions.continue"?: string | undefined; "listOptions.sendInitialEvents"?: boolean | undefined };
    body: undefined;
    answer: JsonObject;
  };
  /** Refused: there are no eventsources here. */
  EventSourceService_UpdateEventSource: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: Record<never, never>;
    body: undefined;
    answer: JsonObject;
  };
  /** A stream without changes. */
  EventSourceService_WatchEventSources: {
    kind: "stream";
    params: { namespace: string };
    query: { "listOptions.labelSelector"?: string | undefined; "listOptions.fieldSelector"?: string | undefined; "listOptions.watch"?: boolean | undefined; "listOptions.allowWatchBookmarks"?: boolean | undefined; "listOptions.resourceVersion"?: string | undefined; "listOptions.resourceVersionMatch"?: string | undefined; "listOptions.timeoutSeconds"?: number | undefined; "listOptions.limit"?: number | undefined; "listOptions.continue"?: string | undefined; "listOptions.sendInitialEvents"?: boolean | undefined };
    body: undefined;
    answer: JsonObject;
  };
  /** Take a config map that workflows refer to. */
  ImportService_ImportConfigMap: {
    kind: "unary";
    params: { namespace: string };
    query: Record<never, never>;
    body: { namespace?: string | undefined; overwrite?: boolean | undefined; dryRun?: boolean | undefined; configMap?: ConfigMap | undefined };
    answer: { outcome?: string | undefined; message?: string | undefined };
  };
  /** Take a finished workflow of another installation into the archive. */
  ImportService_ImportWorkflow: {
    kind: "unary";
    params: { namespace: string };
    query: Record<never, never>;
    body: { namespace?: string | undefined; overwrite?: boolean | undefined; dryRun?: boolean | undefined; workflow?: Workflow | undefined };
    answer: { outcome?: string | undefined; message?: string | undefined };
  };
  /** Accepted and ignored: nothing is tracked here. */
  InfoService_CollectEvent: {
    kind: "unary";
    params: Record<never, never>;
    query: Record<never, never>;
    body: { name?: string | undefined };
    answer: JsonObject;
  };
  /** Examine what the server stands on: store, clock, replicas, cluster, artifacts, webhooks. */
  InfoService_Examine: {
    kind: "unary";
    params: Record<never, never>;
    query: Record<never, never>;
    body: undefined;
    answer: JsonObject;
  };
  /** What the caller may do in a namespace, or with one object of it; without one, in all. */
  InfoService_GetAccess: {
    kind: "unary";
    params: { namespace: string };
    query: { "resource"?: string[] | undefined; "name"?: string | undefined };
    body: undefined;
    answer: JsonObject;
  };
  /** Settings that user interfaces ask for. */
  InfoService_GetInfo: {
    kind: "unary";
    params: Record<never, never>;
    query: Record<never, never>;
    body: undefined;
    answer: JsonObject;
  };
  /** What is known about the caller. */
  InfoService_GetUserInfo: {
    kind: "unary";
    params: Record<never, never>;
    query: Record<never, never>;
    body: undefined;
    answer: JsonObject;
  };
  /** The running version. */
  InfoService_GetVersion: {
    kind: "unary";
    params: Record<never, never>;
    query: Record<never, never>;
    body: undefined;
    answer: JsonObject;
  };
  /** List mutexes and semaphores that somebody holds or waits for. */
  LockService_ListLocks: {
    kind: "unary";
    params: { namespace: string };
    query: { "limit"?: number | undefined; "continue"?: string | undefined };
    body: undefined;
    answer: { metadata?: { continue?: string | undefined } | undefined; items?: { id?: string | undefined; kind?: string | undefined; namespace?: string | undefined; name?: string | undefined; type?: string | undefined; cmName?: string | undefined; limit?: number | undefined; holderCount?: number | undefined; waitingCount?: number | undefined; holders?: { namespace?: string | undefined; workflow?: string | undefined; nodeId?: string | undefined; since?: string | undefined; priority?: number | undefined }[] | undefined; waiting?: { namespace?: string | undefined; workflow?: string | undefined; nodeId?: string | undefined; since?: string | undefined; priority?: number | undefined }[] | undefined }[] | undefined };
  };
  /** Refused: there are no sensors here. */
  SensorService_CreateSensor: {
    kind: "unary";
    params: { namespace: string };
    query: Record<never, never>;
    body: undefined;
    answer: JsonObject;
  };
  /** Refused: there are no sensors here. */
  SensorService_DeleteSensor: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: Record<never, never>;
    body: undefined;
    answer: JsonObject;
  };
  /** Not found: there are no sensors here. */
  SensorService_GetSensor: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: { "getOptions.resourceVersion"?: string | undefined };
    body: undefined;
    answer: JsonObject;
  };
  /** An empty list: there are no sensors here. */
  SensorService_ListSensors: {
    kind: "unary";
    params: { namespace: string };
    query: { "listOptions.labelSelector"?: string | undefined; "listOptions.fieldSelector"?: string | undefined; "listOptions.watch"?: boolean | undefined; "listOptions.allowWatchBookmarks"?: boolean | undefined; "listOptions.resourceVersion"?: string | undefined; "listOptions.resourceVersionMatch"?: string | undefined; "listOptions.timeoutSeconds"?: number | undefined; "listOptions.limit"?: number | undefined; "listOptions.continue"?: string | undefined; "listOptions.sendInitialEvents"?: boolean | undefined };
    body: undefined;
    answer: JsonObject;
  };
  /** A stream without lines. */
  SensorService_SensorsLogs: {
    kind: "stream";
    params: { namespace: string };
    query: { "listOptions.labelSelector"?: string | undefined; "listOptions.fieldSelector"?: string | undefined; "listOptions.watch"?: boolean | undefined; "listOptions.allowWatchBookmarks"?: boolean | undefined; "listOptions.resourceVersion"?: string | undefined; "listOptions.resourceVersionMatch"?: string | undefined; "listOptions.timeoutSeconds"?: number | undefined; "listOptions.limit"?: number | undefined; "listOptions.continue"?: string | undefined; "listOptions.sendInitialEvents"?: boolean | undefined };
    body: undefined;
    answer: JsonObject;
  };
  /** Refused: there are no sensors here. */
  SensorService_UpdateSensor: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: Record<never, never>;
    body: undefined;
    answer: JsonObject;
  };
  /** A stream without changes. */
  SensorService_WatchSensors: {
    kind: "stream";
    params: { namespace: string };
    query: { "listOptions.labelSelector"?: string | undefined; "listOptions.fieldSelector"?: string | undefined; "listOptions.watch"?: boolean | undefined; "listOptions.allowWatchBookmarks"?: boolean | undefined; "listOptions.resourceVersion"?: string | undefined; "listOptions.resourceVersionMatch"?: string | undefined; "listOptions.timeoutSeconds"?: number | undefined; "listOptions.limit"?: number | undefined; "listOptions.continue"?: string | undefined; "listOptions.sendInitialEvents"?: boolean | undefined };
    body: undefined;
    answer: JsonObject;
  };
  /** Store a new subscription. */
  SubscriptionService_CreateSubscription: {
    kind: "unary";
    params: { namespace: string };
    query: Record<never, never>;
    body: { name?: string | undefined; namespace?: string | undefined; subscription?: Subscription | undefined; createOptions?: CreateOptions | undefined };
    answer: Subscription;
  };
  /** Delete a subscription. */
  SubscriptionService_DeleteSubscription: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: { "deleteOptions.gracePeriodSeconds"?: number | undefined; "deleteOptions.orphanDependents"?: boolean | undefined; "deleteOptions.propagationPolicy"?: string | undefined; "deleteOptions.dryRun"?: string[] | undefined; "deleteOptions.preconditions.uid"?: string | undefined; "deleteOptions.preconditions.resourceVersion"?: string | undefined };
    body: undefined;
    answer: JsonObject;
  };
  /** Get a subscription. */
  SubscriptionService_GetSubscription: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: { "getOptions.resourceVersion"?: string | undefined };
    body: undefined;
    answer: Subscription;
  };
  /** Check a subscription without storing it. */
  SubscriptionService_LintSubscription: {
    kind: "unary";
    params: { namespace: string };
    query: Record<never, never>;
    body: { name?: string | undefined; namespace?: string | undefined; subscription?: Subscription | undefined; createOptions?: CreateOptions | undefined };
    answer: Subscription;
  };
  /** List the deliveries of a subscription that were given up, newest first. */
  SubscriptionService_ListDeadLetters: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: { "limit"?: number | undefined };
    body: undefined;
    answer: JsonObject;
  };
  /** List subscriptions. */
  SubscriptionService_ListSubscriptions: {
    kind: "unary";
    params: { namespace: string };
    query: { "listOptions.labelSelector"?: string | undefined; "listOptions.fieldSelector"?: string | undefined; "listOptions.watch"?: boolean | undefined; "listOptions.allowWatchBookmarks"?: boolean | undefined; "listOptions.resourceVersion"?: string | undefined; "listOptions.resourceVersionMatch"?: string | undefined; "listOptions.timeoutSeconds"?: number | undefined; "listOptions.limit"?: number | undefined; "listOptions.continue"?: string | undefined; "listOptions.sendInitialEvents"?: boolean | undefined; "namePattern"?: string | undefined };
    body: undefined;
    answer: List<Subscription>;
  };
  /** Deliver dead letters of a subscription again: those with the given ids, or all. */
  SubscriptionService_ReplayDeadLetters: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: Record<never, never>;
    body: { namespace?: string | undefined; name?: string | undefined; ids?: string[] | undefined };
    answer: JsonObject;
  };
  /** Replace a subscription; it must have the resourceVersion that it is based on. */
  SubscriptionService_UpdateSubscription: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: Record<never, never>;
    body: { name?: string | undefined; namespace?: string | undefined; subscription?: Subscription | undefined; createOptions?: CreateOptions | undefined };
    answer: Subscription;
  };
  /** Add a semaphore limit to a config map. */
  SyncService_CreateSyncLimit: {
    kind: "unary";
    params: { namespace: string };
    query: Record<never, never>;
    body: { type?: Json | undefined; namespace?: string | undefined; cmName?: string | undefined; key?: string | undefined; limit?: number | undefined };
    answer: JsonObject;
  };
  /** Remove a semaphore limit. */
  SyncService_DeleteSyncLimit: {
    kind: "unary";
    params: { namespace: string; key: string };
    query: { "type"?: string | undefined; "cmName"?: string | undefined };
    body: undefined;
    answer: JsonObject;
  };
  /** Get a semaphore limit. */
  SyncService_GetSyncLimit: {
    kind: "unary";
    params: { namespace: string; key: string };
    query: { "type"?: string | undefined; "cmName"?: string | undefined };
    body: undefined;
    answer: JsonObject;
  };
  /** Change a semaphore limit. */
  SyncService_UpdateSyncLimit: {
    kind: "unary";
    params: { namespace: string; key: string };
    query: Record<never, never>;
    body: { type?: Json | undefined; namespace?: string | undefined; cmName?: string | undefined; key?: string | undefined; limit?: number | undefined };
    answer: JsonObject;
  };
  /** How the deployment is: replicas, shards, store, queue of events. */
  SystemService_GetSystem: {
    kind: "unary";
    params: Record<never, never>;
    query: Record<never, never>;
    body: undefined;
    answer: { version?: string | undefined; shards?: number | undefined; replicas?: { name?: string | undefined; answeredAfterMs?: number | undefined; shards?: number[] | undefined; actors?: number | undefined; tasks?: number | undefined; about?: JsonObject | undefined }[] | undefined; store?: { kind?: string | undefined; durability?: { asked?: string | undefined; promised?: string | undefined } | undefined; answeredAfterMs?: number | undefined; trouble?: string | undefined } | undefined; events?: { queued?: number | undefined; capacity?: number | undefined } | undefined };
  };
  /** How many workflows of each phase were created when. */
  WorkflowService_CountWorkflows: {
    kind: "unary";
    params: { namespace: string };
    query: { "listOptions.labelSelector"?: string | undefined; "listOptions.fieldSelector"?: string | undefined; "listOptions.watch"?: boolean | undefined; "listOptions.allowWatchBookmarks"?: boolean | undefined; "listOptions.resourceVersion"?: string | undefined; "listOptions.resourceVersionMatch"?: string | undefined; "listOptions.timeoutSeconds"?: number | undefined; "listOptions.limit"?: number | undefined; "listOptions.continue"?: string | undefined; "listOptions.sendInitialEvents"?: boolean | undefined; "nameFilter"?: string | undefined; "createdAfter"?: string | undefined; "finishedBefore"?: string | undefined; "waiting"?: boolean | undefined; "bars"?: number | undefined };
    body: undefined;
    answer: JsonObject;
  };
  /** Create a workflow from a manifest. */
  WorkflowService_CreateWorkflow: {
    kind: "unary";
    params: { namespace: string };
    query: Record<never, never>;
    body: { namespace?: string | undefined; workflow?: Workflow | undefined; instanceID?: string | undefined; serverDryRun?: boolean | undefined; createOptions?: CreateOptions | undefined };
    answer: Workflow;
    hasMinimal: true;
  };
  /** Delete a workflow. */
  WorkflowService_DeleteWorkflow: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: { "deleteOptions.gracePeriodSeconds"?: number | undefined; "deleteOptions.orphanDependents"?: boolean | undefined; "deleteOptions.propagationPolicy"?: string | undefined; "deleteOptions.dryRun"?: string[] | undefined; "deleteOptions.preconditions.uid"?: string | undefined; "deleteOptions.preconditions.resourceVersion"?: string | undefined; "force"?: boolean | undefined };
    body: undefined;
    answer: JsonObject;
  };
  /** Get a workflow; `@latest` is the newest of the namespace. */
  WorkflowService_GetWorkflow: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: { "getOptions.resourceVersion"?: string | undefined; "fields"?: string | undefined; "uid"?: string | undefined; "exactTimes"?: boolean | undefined; "waits"?: boolean | undefined };
    body: undefined;
    answer: Workflow;
  };
  /** Check a workflow without creating it. */
  WorkflowService_LintWorkflow: {
    kind: "unary";
    params: { namespace: string };
    query: Record<never, never>;
    body: { namespace?: string | undefined; workflow?: Workflow | undefined };
    answer: Workflow;
  };
  /** List workflows. */
  WorkflowService_ListWorkflows: {
    kind: "unary";
    params: { namespace: string };
    query: { "listOptions.labelSelector"?: string | undefined; "listOptions.fieldSelector"?: string | undefined; "listOptions.watch"?: boolean | undefined; "listOptions.allowWatchBookmarks"?: boolean | undefined; "listOptions.resourceVersion"?: string | undefined; "listOptions.resourceVersionMatch"?: string | undefined; "listOptions.timeoutSeconds"?: number | undefined; "listOptions.limit"?: number | undefined; "listOptions.continue"?: string | undefined; "listOptions.sendInitialEvents"?: boolean | undefined; "fields"?: string | undefined; "nameFilter"?: string | undefined; "createdAfter"?: string | undefined; "finishedBefore"?: string | undefined; "parameter"?: string | undefined; "waiting"?: boolean | undefined; "exactTimes"?: boolean | undefined; "waits"?: boolean | undefined };
    body: undefined;
    answer: List<Workflow>;
  };
  /** Make URLs that end the wait of the steps that a selector names, now or later. */
  WorkflowService_MakeCallbacks: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: Record<never, never>;
    body: { name?: string | undefined; namespace?: string | undefined; nodeFieldSelector?: string | undefined; expires?: string | undefined };
    answer: JsonObject;
  };
  /** Which steps a retry would run again; nothing is changed. */
  WorkflowService_PlanRetry: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: Record<never, never>;
    body: { name?: string | undefined; namespace?: string | undefined; restartSuccessful?: boolean | undefined; nodeFieldSelector?: string | undefined; parameters?: string[] | undefined };
    answer: JsonObject;
  };
  /** Log lines of one step; use the route above with `podName`. */
  WorkflowService_PodLogs: {
    kind: "stream";
    params: { namespace: string; name: string; podName: string };
    query: { "logOptions.container"?: string | undefined; "logOptions.follow"?: boolean | undefined; "logOptions.previous"?: boolean | undefined; "logOptions.sinceSeconds"?: number | undefined; "logOptions.sinceTime"?: string | undefined; "logOptions.sinceTime.seconds"?: number | undefined; "logOptions.sinceTime.nanos"?: number | undefined; "logOptions.timestamps"?: boolean | undefined; "logOptions.tailLines"?: number | undefined; "logOptions.limitBytes"?: number | undefined; "logOptions.insecureSkipTLSVerifyBackend"?: boolean | undefined; "logOptions.stream"?: string | undefined; "grep"?: string | undefined; "selector"?: string | undefined; "fields"?: string | undefined };
    body: undefined;
    answer: LogLine;
  };
  /** Run a workflow again under a new name. */
  WorkflowService_ResubmitWorkflow: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: Record<never, never>;
    body: { name?: string | undefined; namespace?: string | undefined; memoized?: boolean | undefined; parameters?: string[] | undefined };
    answer: Workflow;
    hasMinimal: true;
  };
  /** Go on after a suspension, or complete the suspended steps that a selector names. */
  WorkflowService_ResumeWorkflow: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: Record<never, never>;
    body: { name?: string | undefined; namespace?: string | undefined; nodeFieldSelector?: string | undefined };
    answer: Workflow;
    hasMinimal: true;
  };
  /** Run the failed steps of a finished workflow again. */
  WorkflowService_RetryWorkflow: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: Record<never, never>;
    body: { name?: string | undefined; namespace?: string | undefined; restartSuccessful?: boolean | undefined; nodeFieldSelector?: string | undefined; parameters?: string[] | undefined };
    answer: Workflow;
    hasMinimal: true;
  };
  /** Set phase, message or outputs of suspended steps. */
  WorkflowService_SetWorkflow: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: Record<never, never>;
    body: { name?: string | undefined; namespace?: string | undefined; nodeFieldSelector?: string | undefined; message?: string | undefined; phase?: string | undefined; outputParameters?: string | undefined };
    answer: Workflow;
    hasMinimal: true;
  };
  /** End a workflow with its exit handlers, or fail the suspended steps that a selector names. */
  WorkflowService_StopWorkflow: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: Record<never, never>;
    body: { name?: string | undefined; namespace?: string | undefined; nodeFieldSelector?: string | undefined; message?: string | undefined };
    answer: Workflow;
    hasMinimal: true;
  };
  /** Create a workflow from a template or a cron workflow. */
  WorkflowService_SubmitWorkflow: {
    kind: "unary";
    params: { namespace: string };
    query: Record<never, never>;
    body: { namespace?: string | undefined; resourceKind?: string | undefined; resourceName?: string | undefined; submitOptions?: { name?: string | undefined; generateName?: string | undefined; entryPoint?: string | undefined; parameters?: string[] | undefined; serviceAccount?: string | undefined; dryRun?: boolean | undefined; serverDryRun?: boolean | undefined; labels?: string | undefined; ownerReference?: { apiVersion?: string | undefined; kind?: string | undefined; name?: string | undefined; uid?: string | undefined; controller?: boolean | undefined; blockOwnerDeletion?: boolean | undefined } | undefined; annotations?: string | undefined; podPriorityClassName?: string | undefined; priority?: number | undefined; artifacts?: string[] | undefined } | undefined };
    answer: Workflow;
    hasMinimal: true;
  };
  /** Start no further steps. */
  WorkflowService_SuspendWorkflow: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: Record<never, never>;
    body: { name?: string | undefined; namespace?: string | undefined };
    answer: Workflow;
    hasMinimal: true;
  };
  /** End a workflow at once. */
  WorkflowService_TerminateWorkflow: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: Record<never, never>;
    body: { name?: string | undefined; namespace?: string | undefined };
    answer: Workflow;
    hasMinimal: true;
  };
  /** Watch events about workflows. */
  WorkflowService_WatchEvents: {
    kind: "stream";
    params: { namespace: string };
    query: { "listOptions.labelSelector"?: string | undefined; "listOptions.fieldSelector"?: string | undefined; "listOptions.watch"?: boolean | undefined; "listOptions.allowWatchBookmarks"?: boolean | undefined; "listOptions.resourceVersion"?: string | undefined; "listOptions.resourceVersionMatch"?: string | undefined; "listOptions.timeoutSeconds"?: number | undefined; "listOptions.limit"?: number | undefined; "listOptions.continue"?: string | undefined; "listOptions.sendInitialEvents"?: boolean | undefined };
    body: undefined;
    answer: JsonObject;
  };
  /** Watch workflows: what exists first, then every change. */
  WorkflowService_WatchWorkflows: {
    kind: "stream";
    params: { namespace: string };
    query: { "listOptions.labelSelector"?: string | undefined; "listOptions.fieldSelector"?: string | undefined; "listOptions.watch"?: boolean | undefined; "listOptions.allowWatchBookmarks"?: boolean | undefined; "listOptions.resourceVersion"?: string | undefined; "listOptions.resourceVersionMatch"?: string | undefined; "listOptions.timeoutSeconds"?: number | undefined; "listOptions.limit"?: number | undefined; "listOptions.continue"?: string | undefined; "listOptions.sendInitialEvents"?: boolean | undefined; "fields"?: string | undefined; "waiting"?: boolean | undefined; "exactTimes"?: boolean | undefined; "waits"?: boolean | undefined };
    body: undefined;
    answer: Change<Workflow>;
  };
  /** Log lines of a workflow's steps. */
  WorkflowService_WorkflowLogs: {
    kind: "stream";
    params: { namespace: string; name: string };
    query: { "logOptions.container"?: string | undefined; "logOptions.follow"?: boolean | undefined; "logOptions.previous"?: boolean | undefined; "logOptions.sinceSeconds"?: number | undefined; "logOptions.sinceTime"?: string | undefined; "logOptions.sinceTime.seconds"?: number | undefined; "logOptions.sinceTime.nanos"?: number | undefined; "logOptions.timestamps"?: boolean | undefined; "logOptions.tailLines"?: number | undefined; "logOptions.limitBytes"?: number | undefined; "logOptions.insecureSkipTLSVerifyBackend"?: boolean | undefined; "logOptions.stream"?: string | undefined; "podName"?: string | undefined; "grep"?: string | undefined; "selector"?: string | undefined; "fields"?: string | undefined };
    body: undefined;
    answer: LogLine;
  };
  /** Store a new workflow template. */
  WorkflowTemplateService_CreateWorkflowTemplate: {
    kind: "unary";
    params: { namespace: string };
    query: Record<never, never>;
    body: { name?: string | undefined; namespace?: string | undefined; template?: WorkflowTemplate | undefined; createOptions?: CreateOptions | undefined };
    answer: WorkflowTemplate;
  };
  /** Delete a workflow template. */
  WorkflowTemplateService_DeleteWorkflowTemplate: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: { "deleteOptions.gracePeriodSeconds"?: number | undefined; "deleteOptions.orphanDependents"?: boolean | undefined; "deleteOptions.propagationPolicy"?: string | undefined; "deleteOptions.dryRun"?: string[] | undefined; "deleteOptions.preconditions.uid"?: string | undefined; "deleteOptions.preconditions.resourceVersion"?: string | undefined };
    body: undefined;
    answer: JsonObject;
  };
  /** Get a workflow template. */
  WorkflowTemplateService_GetWorkflowTemplate: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: { "getOptions.resourceVersion"?: string | undefined };
    body: undefined;
    answer: WorkflowTemplate;
  };
  /** Check a workflow template without storing it. */
  WorkflowTemplateService_LintWorkflowTemplate: {
    kind: "unary";
    params: { namespace: string };
    query: Record<never, never>;
    body: { name?: string | undefined; namespace?: string | undefined; template?: WorkflowTemplate | undefined; createOptions?: CreateOptions | undefined };
    answer: WorkflowTemplate;
  };
  /** List workflow templates. */
  WorkflowTemplateService_ListWorkflowTemplates: {
    kind: "unary";
    params: { namespace: string };
    query: { "listOptions.labelSelector"?: string | undefined; "listOptions.fieldSelector"?: string | undefined; "listOptions.watch"?: boolean | undefined; "listOptions.allowWatchBookmarks"?: boolean | undefined; "listOptions.resourceVersion"?: string | undefined; "listOptions.resourceVersionMatch"?: string | undefined; "listOptions.timeoutSeconds"?: number | undefined; "listOptions.limit"?: number | undefined; "listOptions.continue"?: string | undefined; "listOptions.sendInitialEvents"?: boolean | undefined; "namePattern"?: string | undefined };
    body: undefined;
    answer: List<WorkflowTemplate>;
  };
  /** Replace a workflow template; it must have the resourceVersion that it is based on. */
  WorkflowTemplateService_UpdateWorkflowTemplate: {
    kind: "unary";
    params: { namespace: string; name: string };
    query: Record<never, never>;
    body: { name?: string | undefined; namespace?: string | undefined; template?: WorkflowTemplate | undefined; createOptions?: CreateOptions | undefined };
    answer: WorkflowTemplate;
  };
}

/** Where each operation is. */
export const OPERATIONS = {
  ArchivedWorkflowService_CountArchivedWorkflows: {"kind":"unary","method":"GET","path":"/api/v1/archived-workflows-counts"},
  ArchivedWorkflowService_DeleteArchivedWorkflow: {"kind":"unary","method":"DELETE","path":"/api/v1/archived-workflows/{uid}"},
  ArchivedWorkflowService_GetArchivedWorkflow: {"kind":"unary","method":"GET","path":"/api/v1/archived-workflows/{uid}"},
  ArchivedWorkflowService_ListArchivedWorkflowLabelKeys: {"kind":"unary","method":"GET","path":"/api/v1/archived-workflows-label-keys"},
  ArchivedWorkflowService_ListArchivedWorkflowLabelValues: {"kind":"unary","method":"GET","path":"/api/v1/archived-workflows-label-values"},
  ArchivedWorkflowService_ListArchivedWorkflows: {"kind":"unary","method":"GET","path":"/api/v1/archived-workflows"},
  ArchivedWorkflowService_PruneArchivedWorkflows: {"kind":"unary","method":"POST","path":"/api/v1/archived-workflows-prune"},
  ArchivedWorkflowService_ResubmitArchivedWorkflow: {"kind":"unary","method":"PUT","path":"/api/v1/archived-workflows/{uid}/resubmit"},
  ArchivedWorkflowService_RetryArchivedWorkflow: {"kind":"unary","method":"PUT","path":"/api/v1/archived-workflows/{uid}/retry"},
  ArtifactService_GetArtifactFile: {"kind":"download","method":"GET","path":"/artifact-files/{namespace}/{idDiscriminator}/{id}/{nodeId}/{artifactDiscriminator}/{artifactName}"},
  ArtifactService_GetFileOfArtifact: {"kind":"download","method":"GET","path":"/artifact-files/{namespace}/{idDiscriminator}/{id}/{nodeId}/{artifactDiscriminator}/{artifactName}/{path}"},
  ArtifactService_GetInputArtifact: {"kind":"download","method":"GET","path":"/input-artifacts/{namespace}/{name}/{nodeId}/{artifactName}"},
  ArtifactService_GetInputArtifactByUID: {"kind":"download","method":"GET","path":"/input-artifacts-by-uid/{uid}/{nodeId}/{artifactName}"},
  ArtifactService_GetOutputArtifact: {"kind":"download","method":"GET","path":"/artifacts/{namespace}/{name}/{nodeId}/{artifactName}"},
  ArtifactService_GetOutputArtifactByUID: {"kind":"download","method":"GET","path":"/artifacts-by-uid/{uid}/{nodeId}/{artifactName}"},
  ArtifactService_UploadArtifact: {"kind":"upload","method":"POST","path":"/upload-artifacts/{namespace}/{templateName}/{artifactName}"},
  CallbackKeyService_ListCallbackKeys: {"kind":"unary","method":"GET","path":"/api/v1/callback-keys"},
  CallbackKeyService_RotateCallbackKeys: {"kind":"unary","method":"POST","path":"/api/v1/callback-keys"},
  CallbackService_Heartbeat: {"kind":"unary","method":"POST","path":"/callback/heartbeat/{token}"},
  CallbackService_Resume: {"kind":"unary","method":"POST","path":"/callback/resume/{token}"},
  CallbackService_Stop: {"kind":"unary","method":"POST","path":"/callback/stop/{token}"},
  ClusterWorkflowTemplateService_CreateClusterWorkflowTemplate: {"kind":"unary","method":"POST","path":"/api/v1/cluster-workflow-templates"},
  ClusterWorkflowTemplateService_DeleteClusterWorkflowTemplate: {"kind":"unary","method":"DELETE","path":"/api/v1/cluster-workflow-templates/{name}"},
  ClusterWorkflowTemplateService_GetClusterWorkflowTemplate: {"kind":"unary","method":"GET","path":"/api/v1/cluster-workflow-templates/{name}"},
  ClusterWorkflowTemplateService_LintClusterWorkflowTemplate: {"kind":"unary","method":"POST","path":"/api/v1/cluster-workflow-templates/lint"},
  ClusterWorkflowTemplateService_ListClusterWorkflowTemplates: {"kind":"unary","method":"GET","path":"/api/v1/cluster-workflow-templates"},
  ClusterWorkflowTemplateService_UpdateClusterWorkflowTemplate: {"kind":"unary","method":"PUT","path":"/api/v1/cluster-workflow-templates/{name}"},
  CronWorkflowService_CreateCronWorkflow: {"kind":"unary","method":"POST","path":"/api/v1/cron-workflows/{namespace}"},
  CronWorkflowService_DeleteCronWorkflow: {"kind":"unary","method":"DELETE","path":"/api/v1/cron-workflows/{namespace}/{name}"},
  CronWorkflowService_GetCronWorkflow: {"kind":"unary","method":"GET","path":"/api/v1/cron-workflows/{namespace}/{name}"},
  CronWorkflowService_LintCronWorkflow: {"kind":"unary","method":"POST","path":"/api/v1/cron-workflows/{namespace}/lint"},
  CronWorkflowService_ListCronWorkflows: {"kind":"unary","method":"GET","path":"/api/v1/cron-workflows/{namespace}"},
  CronWorkflowService_ResumeCronWorkflow: {"kind":"unary","method":"PUT","path":"/api/v1/cron-workflows/{namespace}/{name}/resume"},
  CronWorkflowService_SuspendCronWorkflow: {"kind":"unary","method":"PUT","path":"/api/v1/cron-workflows/{namespace}/{name}/suspend"},
  CronWorkflowService_UpdateCronWorkflow: {"kind":"unary","method":"PUT","path":"/api/v1/cron-workflows/{namespace}/{name}"},
  EventService_CreateWorkflowEventBinding: {"kind":"unary","method":"POST","path":"/api/v1/workflow-event-bindings/{namespace}"},
  EventService_DeleteWorkflowEventBinding: {"kind":"unary","method":"DELETE","path":"/api/v1/workflow-event-bindings/{namespace}/{name}"},
  EventService_ExplainEventDelivery: {"kind":"unary","method":"GET","path":"/api/v1/event-deliveries/{namespace}/{id}/event"},
  EventService_GetEventBindingActivity: {"kind":"unary","method":"GET","path":"/api/v1/event-binding-activity/{namespace}"},
  EventService_GetEventDelivery: {"kind":"unary","method":"GET","path":"/api/v1/event-deliveries/{namespace}/{id}"},
  EventService_GetWorkflowEventBinding: {"kind":"unary","method":"GET","path":"/api/v1/workflow-event-bindings/{namespace}/{name}"},
  EventService_LintWorkflowEventBinding: {"kind":"unary","method":"POST","path":"/api/v1/workflow-event-bindings/{namespace}/lint"},
  EventService_ListEventDeliveries: {"kind":"unary","method":"GET","path":"/api/v1/event-deliveries/{namespace}"},
  EventService_ListWorkflowEventBindings: {"kind":"unary","method":"GET","path":"/api/v1/workflow-event-bindings/{namespace}"},
  EventService_ReceiveEvent: {"kind":"unary","method":"POST","path":"/api/v1/events/{namespace}/{discriminator}"},
  EventService_ReplayEventDeliveries: {"kind":"unary","method":"POST","path":"/api/v1/event-deliveries/{namespace}/replay"},
  EventService_ReplayEventDelivery: {"kind":"unary","method":"POST","path":"/api/v1/event-deliveries/{namespace}/{id}/replay"},
  EventService_TestWorkflowEventBinding: {"kind":"unary","method":"POST","path":"/api/v1/workflow-event-bindings/{namespace}/test"},
  EventService_UpdateWorkflowEventBinding: {"kind":"unary","method":"PUT","path":"/api/v1/workflow-event-bindings/{namespace}/{name}"},
  EventSourceService_CreateEventSource: {"kind":"unary","method":"POST","path":"/api/v1/event-sources/{namespace}"},
  EventSourceService_DeleteEventSource: {"kind":"unary","method":"DELETE","path":"/api/v1/event-sources/{namespace}/{name}"},
  EventSourceService_EventSourcesLogs: {"kind":"stream","method":"GET","path":"/api/v1/stream/event-sources/{namespace}/logs"},
  EventSourceService_GetEventSource: {"kind":"unary","method":"GET","path":"/api/v1/event-sources/{namespace}/{name}"},
  EventSourceService_ListEventSources: {"kind":"unary","method":"GET","path":"/api/v1/event-sources/{namespace}"},
  EventSourceService_UpdateEventSource: {"kind":"unary","method":"PUT","path":"/api/v1/event-sources/{namespace}/{name}"},
  EventSourceService_WatchEventSources: {"kind":"stream","method":"GET","path":"/api/v1/stream/event-sources/{namespace}"},
  ImportService_ImportConfigMap: {"kind":"unary","method":"POST","path":"/api/v1/imports/{namespace}/config-map"},
  ImportService_ImportWorkflow: {"kind":"unary","method":"POST","path":"/api/v1/imports/{namespace}/workflow"},
  InfoService_CollectEvent: {"kind":"unary","method":"POST","path":"/api/v1/tracking/event"},
  InfoService_Examine: {"kind":"unary","method":"POST","path":"/api/v1/doctor"},
  InfoService_GetAccess: {"kind":"unary","method":"GET","path":"/api/v1/access/{namespace}"},
  InfoService_GetInfo: {"kind":"unary","method":"GET","path":"/api/v1/info"},
  InfoService_GetUserInfo: {"kind":"unary","method":"GET","path":"/api/v1/userinfo"},
  InfoService_GetVersion: {"kind":"unary","method":"GET","path":"/api/v1/version"},
  LockService_ListLocks: {"kind":"unary","method":"GET","path":"/api/v1/locks/{namespace}"},
  SensorService_CreateSensor: {"kind":"unary","method":"POST","path":"/api/v1/sensors/{namespace}"},
  SensorService_DeleteSensor: {"kind":"unary","method":"DELETE","path":"/api/v1/sensors/{namespace}/{name}"},
  SensorService_GetSensor: {"kind":"unary","method":"GET","path":"/api/v1/sensors/{namespace}/{name}"},
  SensorService_ListSensors: {"kind":"unary","method":"GET","path":"/api/v1/sensors/{namespace}"},
  SensorService_SensorsLogs: {"kind":"stream","method":"GET","path":"/api/v1/stream/sensors/{namespace}/logs"},
  SensorService_UpdateSensor: {"kind":"unary","method":"PUT","path":"/api/v1/sensors/{namespace}/{name}"},
  SensorService_WatchSensors: {"kind":"stream","method":"GET","path":"/api/v1/stream/sensors/{namespace}"},
  SubscriptionService_CreateSubscription: {"kind":"unary","method":"POST","path":"/api/v1/subscriptions/{namespace}"},
  SubscriptionService_DeleteSubscription: {"kind":"unary","method":"DELETE","path":"/api/v1/subscriptions/{namespace}/{name}"},
  SubscriptionService_GetSubscription: {"kind":"unary","method":"GET","path":"/api/v1/subscriptions/{namespace}/{name}"},
  SubscriptionService_LintSubscription: {"kind":"unary","method":"POST","path":"/api/v1/subscriptions/{namespace}/lint"},
  SubscriptionService_ListDeadLetters: {"kind":"unary","method":"GET","path":"/api/v1/subscriptions/{namespace}/{name}/dead-letters"},
  SubscriptionService_ListSubscriptions: {"kind":"unary","method":"GET","path":"/api/v1/subscriptions/{namespace}"},
  SubscriptionService_ReplayDeadLetters: {"kind":"unary","method":"POST","path":"/api/v1/subscriptions/{namespace}/{name}/dead-letters/replay"},
  SubscriptionService_UpdateSubscription: {"kind":"unary","method":"PUT","path":"/api/v1/subscriptions/{namespace}/{name}"},
  SyncService_CreateSyncLimit: {"kind":"unary","method":"POST","path":"/api/v1/sync/{namespace}"},
  SyncService_DeleteSyncLimit: {"kind":"unary","method":"DELETE","path":"/api/v1/sync/{namespace}/{key}"},
  SyncService_GetSyncLimit: {"kind":"unary","method":"GET","path":"/api/v1/sync/{namespace}/{key}"},
  SyncService_UpdateSyncLimit: {"kind":"unary","method":"PUT","path":"/api/v1/sync/{namespace}/{key}"},
  SystemService_GetSystem: {"kind":"unary","method":"GET","path":"/api/v1/system"},
  WorkflowService_CountWorkflows: {"kind":"unary","method":"GET","path":"/api/v1/workflow-counts/{namespace}"},
  WorkflowService_CreateWorkflow: {"kind":"unary","method":"POST","path":"/api/v1/workflows/{namespace}"},
  WorkflowService_DeleteWorkflow: {"kind":"unary","method":"DELETE","path":"/api/v1/workflows/{namespace}/{name}"},
  WorkflowService_GetWorkflow: {"kind":"unary","method":"GET","path":"/api/v1/workflows/{namespace}/{name}"},
  WorkflowService_LintWorkflow: {"kind":"unary","method":"POST","path":"/api/v1/workflows/{namespace}/lint"},
  WorkflowService_ListWorkflows: {"kind":"unary","method":"GET","path":"/api/v1/workflows/{namespace}"},
  WorkflowService_MakeCallbacks: {"kind":"unary","method":"POST","path":"/api/v1/workflows/{namespace}/{name}/callbacks"},
  WorkflowService_PlanRetry: {"kind":"unary","method":"POST","path":"/api/v1/workflows/{namespace}/{name}/retry/plan"},
  WorkflowService_PodLogs: {"kind":"stream","method":"GET","path":"/api/v1/workflows/{namespace}/{name}/{podName}/log"},
  WorkflowService_ResubmitWorkflow: {"kind":"unary","method":"PUT","path":"/api/v1/workflows/{namespace}/{name}/resubmit"},
  WorkflowService_ResumeWorkflow: {"kind":"unary","method":"PUT","path":"/api/v1/workflows/{namespace}/{name}/resume"},
  WorkflowService_RetryWorkflow: {"kind":"unary","method":"PUT","path":"/api/v1/workflows/{namespace}/{name}/retry"},
  WorkflowService_SetWorkflow: {"kind":"unary","method":"PUT","path":"/api/v1/workflows/{namespace}/{name}/set"},
  WorkflowService_StopWorkflow: {"kind":"unary","method":"PUT","path":"/api/v1/workflows/{namespace}/{name}/stop"},
  WorkflowService_SubmitWorkflow: {"kind":"unary","method":"POST","path":"/api/v1/workflows/{namespace}/submit"},
  WorkflowService_SuspendWorkflow: {"kind":"unary","method":"PUT","path":"/api/v1/workflows/{namespace}/{name}/suspend"},
  WorkflowService_TerminateWorkflow: {"kind":"unary","method":"PUT","path":"/api/v1/workflows/{namespace}/{name}/terminate"},
  WorkflowService_WatchEvents: {"kind":"stream","method":"GET","path":"/api/v1/stream/events/{namespace}"},
  WorkflowService_WatchWorkflows: {"kind":"stream","method":"GET","path":"/api/v1/workflow-events/{namespace}"},
  WorkflowService_WorkflowLogs: {"kind":"stream","method":"GET","path":"/api/v1/workflows/{namespace}/{name}/log"},
  WorkflowTemplateService_CreateWorkflowTemplate: {"kind":"unary","method":"POST","path":"/api/v1/workflow-templates/{namespace}"},
  WorkflowTemplateService_DeleteWorkflowTemplate: {"kind":"unary","method":"DELETE","path":"/api/v1/workflow-templates/{namespace}/{name}"},
  WorkflowTemplateService_GetWorkflowTemplate: {"kind":"unary","method":"GET","path":"/api/v1/workflow-templates/{namespace}/{name}"},
  WorkflowTemplateService_LintWorkflowTemplate: {"kind":"unary","method":"POST","path":"/api/v1/workflow-templates/{namespace}/lint"},
  WorkflowTemplateService_ListWorkflowTemplates: {"kind":"unary","method":"GET","path":"/api/v1/workflow-templates/{namespace}"},
  WorkflowTemplateService_UpdateWorkflowTemplate: {"kind":"unary","method":"PUT","path":"/api/v1/workflow-templates/{namespace}/{name}"},
} as const satisfies Record<keyof Operations, { kind: string; method: string; path: string }>;
