/** Changes of a workflow that subscribers may be told of, as data. */
import type { SubscribedChange } from "../spec/manifest.ts";

export interface NoticedWorkflow {
  namespace: string;
  name: string;
  uid: string;
  labels: Record<string, string>;
  /** Name of the workflow template that it was made from. */
  template?: string;
  phase: string;
  message?: string;
  /** ISO 8601. */
  createdAt?: string;
  startedAt?: string;
  finishedAt?: string;
  /** Of one that has ended. */
  outputs?: Record<string, string>;
  /** Labels or outputs were left out or cut: they are too long. */
  isCut?: true;
}

export interface NoticedNode {
  id: string;
  name: string;
  displayName: string;
  templateName?: string;
  type: string;
  phase: string;
  message?: string;
  startedAt?: string;
  finishedAt?: string;
  /** Values of its input parameters. */
  inputs?: Record<string, string>;
  /** Inputs were left out or cut. */
  isCut?: true;
}

/** One change of a workflow. */
export interface Notice {
  change: Exclude<SubscribedChange, "DeadLetter">;
  /** Epoch ms. */
  at: number;
  workflow: NoticedWorkflow;
  node?: NoticedNode;
}
