/**
 * The names that the service uses in labels, error texts and manifests: settings of the deployment, passed to whatever
 * writes or reads such a name.
 */
export interface Naming {
  /** Prefix of the labels and annotations that the service sets, with its slash: `workflows.argoproj.io/`. */
  labelPrefix: string;
  /** Group in the `apiVersion` of manifests, in access rules and in error texts: `argoproj.io`. */
  apiGroup: string;
}

/** The names of the reference, which apply unless others are set. */
export const STANDARD_NAMING: Naming = {
  labelPrefix: "workflows.argoproj.io/",
  apiGroup: "argoproj.io",
};

/** The `apiVersion` of manifests. */
export function apiVersionOf({ apiGroup }: Pick<Naming, "apiGroup">): string {
  return `${apiGroup}/v1alpha1`;
}

/** What every workflow that runs has. */
interface OwnNames {
  /** Label: whether it has ended, "true" or "false". */
  completed: string;
  /** Label: its phase. */
  phase: string;
  /** Annotation: how its pods are named. */
  podNameFormat: string;
}

// A memo of a pure function: one text for all who ask, which the runtime has to hash only once.
let last: OwnNames & { prefix: string } | undefined;

/** The labels and annotations that every workflow gets. */
export function ownNames({ labelPrefix }: Pick<Naming, "labelPrefix">): OwnNames {
  if (last?.prefix !== labelPrefix) {
    last = {
      prefix: labelPrefix,
      completed: `${labelPrefix}completed`,
      phase: `${labelPrefix}phase`,
      podNameFormat: `${labelPrefix}pod-name-format`,
    };
  }
  return last;
}

/** Label: whether a workflow has ended, "true" or "false". */
export function completedLabel(naming: Pick<Naming, "labelPrefix">): string {
  return ownNames(naming).completed;
}

/** Label: the phase of a workflow. */
export function phaseLabel(naming: Pick<Naming, "labelPrefix">): string {
  return ownNames(naming).phase;
}

/** Begins labels of index entries by which the workflows that belong to a workflow are found; its uid follows. */
const OWNED_BY = "workflows.argoproj.io/owned-by.";

/** Label of the index entries of workflows that belong to the one with this uid. Nobody sees it. */
export function ownedByLabel(uid: string): string {
  return OWNED_BY + uid;
}

/** Tells whether a label is one of these. */
export function isOwnerLabel(key: string): boolean {
  return key.startsWith(OWNED_BY);
}

/** The labels of an index entry that its workflow has itself. */
export function withoutOwners(labels: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).filter(([key]) => !isOwnerLabel(key)));
}

/** Label of workflows that were made from a template, or from a cluster template: its name. */
export function templateLabel(
  { labelPrefix }: Pick<Naming, "labelPrefix">,
  isCluster: boolean,
): string {
  return `${labelPrefix}${isCluster ? "cluster-workflow-template" : "workflow-template"}`;
}

/** Label of ConfigMaps that workflows use: "Parameter" for values, "Cache" for memoized outputs. */
export function configMapTypeLabel({ labelPrefix }: Pick<Naming, "labelPrefix">): string {
  return `${labelPrefix}configmap-type`;
}

/** Value of the label: the archive keeps the finished workflow when it is deleted. */
export const ARCHIVED = "Archived";
/** Value of the label: the workflow was deleted, and only the archive has it. */
export const PERSISTED = "Persisted";

/** Label: what the archive has of a workflow, {@link ARCHIVED} or {@link PERSISTED}. */
export function archivingStatusLabel({ labelPrefix }: Pick<Naming, "labelPrefix">): string {
  return `${labelPrefix}workflow-archiving-status`;
}

/** Label of workflows that a cron workflow made: its name. */
export function cronLabel({ labelPrefix }: Pick<Naming, "labelPrefix">): string {
  return `${labelPrefix}cron-workflow`;
}

/** Label of workflows that a backfill of a cron workflow started: its name. */
export function backfillLabel({ labelPrefix }: Pick<Naming, "labelPrefix">): string {
  return `${labelPrefix}backfill`;
}

/** Annotation of workflows that a cron workflow made: the time for which. */
export function scheduledTimeAnnotation({ labelPrefix }: Pick<Naming, "labelPrefix">): string {
  return `${labelPrefix}scheduled-time`;
}

/** Secret of a namespace with its webhook senders. Each key is a service account, each value YAML with `type` and `secret`. */
export const WEBHOOK_SECRET = "argo-workflows-webhook-clients";
