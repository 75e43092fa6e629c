/** The workflow that a resubmission makes of an old one. */
import { invalid } from "../base/problem.ts";
import { LABEL_PREFIX, type Workflow } from "../spec/manifest.ts";
import { withParameters } from "./workflow_submit.ts";

export interface ResubmittedOptions {
  memoized: boolean;
  parameters: readonly string[];
  nowMs: number;
  suffix: (length: number) => string;
}

/** Labels that belong to one run. */
const RUN_LABELS =
  /^(creator(-email|-preferred-username)?|phase|completed|workflow-archiving-status)$/;

/** A copy of a workflow that may start anew. */
export function resubmitted(old: Workflow, options: ResubmittedOptions): Workflow {
  if (options.memoized) throw invalid("memoized resubmission needs the engine");
  const { name = "", generateName, labels, annotations, ownerReferences } = old.metadata;
  const kept = Object.entries(labels ?? {}).filter(([key]) =>
    !(key.startsWith(LABEL_PREFIX) && RUN_LABELS.test(key.slice(LABEL_PREFIX.length)))
  );
  const { shutdown: _shutdown, suspend: _suspend, activeDeadlineSeconds, ...spec } = old.spec;
  return {
    metadata: {
      generateName: generateName || `${name}-`,
      labels: {
        ...Object.fromEntries(kept),
        [`${LABEL_PREFIX}resubmitted-from-workflow`]: name,
      },
      ...(annotations === undefined ? {} : { annotations }),
      ...(ownerReferences === undefined ? {} : { ownerReferences }),
    },
    spec: {
      ...spec,
      ...(activeDeadlineSeconds === undefined || activeDeadlineSeconds === 0
        ? {}
        : { activeDeadlineSeconds }),
      ...withParameters(old.spec, options.parameters),
    },
  };
}
