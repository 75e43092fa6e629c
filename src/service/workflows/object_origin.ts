/** Labels of workflows that were made from Workflow objects of the cluster. */

/** Lists find these workflows by this label. */
export const SOURCE_LABEL = "sluice.dev/source";
export const SOURCE = "kubernetes";
/** Holds the object's uid, which is the workflow's too. A workflow that only copied the labels has another uid. */
export const OBJECT_LABEL = "sluice.dev/object";

/** Tells whether a workflow was made from an object of the cluster. */
export function isFromObject(index: { uid?: string; labels?: Record<string, string> }): boolean {
  return index.uid !== undefined && index.labels?.[OBJECT_LABEL] === index.uid;
}
