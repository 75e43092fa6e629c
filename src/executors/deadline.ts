/** What the reference says of a pod that ran for too long. */
export const DEADLINE_MESSAGE = "Pod was active on the node longer than the specified deadline";
