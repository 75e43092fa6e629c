/** Labels, annotations and headers by which pods, replicas and users know whose a pod is. */

/** Label of all pods of one deployment. */
export const INSTANCE_LABEL = "sluice.dev/instance";
/** Label with the uid of the pod's workflow. */
export const WORKFLOW_UID_LABEL = "sluice.dev/workflow-uid";
/** Annotation with the task's id. */
export const TASK_ANNOTATION = "sluice.dev/task";
/** Annotation of a pod whose containers were told to end: its step is over, or its main containers have ended or one has failed. */
export const ENDED_ANNOTATION = "sluice.dev/ended";
/** Annotation with a pod's progress `N/M`: what it writes itself, or what its wrapper sends. */
export function progressAnnotation(labelPrefix: string): string {
  return `${labelPrefix}progress`;
}
/** Annotation with what a call back needs to know: `CallbackFacts` as JSON. */
export const CALLBACK_ANNOTATION = "sluice.dev/outputs";
/** Annotation with the server's signature under that. */
export const SIGNATURE_ANNOTATION = "sluice.dev/outputs-signature";
/** Header with the id of the task that a call back is for. */
export const TASK_HEADER = "X-Sluice-Task";
