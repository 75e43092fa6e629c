/** What a caller may ask of a deletion, of whatever kind of object. */
import { invalid } from "../base/problem.ts";
import { goQuote } from "../expr/values/go_quote.ts";
import { type Deployment, objectModified, type ResourceKind } from "./object_names.ts";

/** Conditions of a deletion. */
export interface DeleteRequest {
  /** Given with `All`: nothing is deleted. */
  dryRun?: string[];
  uid?: string;
  resourceVersion?: string;
  propagationPolicy?: string;
  orphanDependents?: boolean;
}

const POLICIES = ["Foreground", "Background", "Orphan"];

/**
 * Tells whether an object that was found is to be deleted; false for a dry run. Only workflows and cron workflows have dependents
 * here, but a misspelt policy is refused for all kinds.
 * @throws {Problem} InvalidArgument for options that Kubernetes refuses, AlreadyExists (409) when it is not the object that is meant
 */
export function isToBeDeleted(
  at: Deployment,
  kind: ResourceKind,
  name: string,
  request: DeleteRequest,
  found: { uid?: string | undefined; resourceVersion: string },
): boolean {
  const faults = faultsOf(request);
  if (faults.length > 0) {
    const text = faults.length === 1 ? faults[0] : `[${faults.join(", ")}]`;
    throw invalid(`DeleteOptions.meta.k8s.io "" is invalid: ${text}`);
  }
  const { uid, resourceVersion, dryRun = [] } = request;
  if (
    (uid !== undefined && uid !== found.uid) ||
    (resourceVersion !== undefined && resourceVersion !== found.resourceVersion)
  ) throw objectModified(at, kind, name);
  return dryRun.length === 0;
}

function faultsOf({ propagationPolicy, orphanDependents, dryRun = [] }: DeleteRequest): string[] {
  const faults: string[] = [];
  if (propagationPolicy !== undefined) {
    const value = goQuote(propagationPolicy);
    if (orphanDependents !== undefined) {
      faults.push(
        `propagationPolicy: Invalid value: ${value}: orphanDependents and deletionPropagation cannot be both set`,
      );
    }
    if (!POLICIES.includes(propagationPolicy)) {
      faults.push(
        `propagationPolicy: Unsupported value: ${value}: supported values: ${
          quoted([...POLICIES, "nil"])
        }`,
      );
    }
  }
  if (dryRun.some((one) => one !== "All")) {
    faults.push(
      `dryRun: Unsupported value: []string{${quoted(dryRun)}}: supported values: "All"`,
    );
  }
  return faults;
}

function quoted(texts: readonly string[]): string {
  return texts.map(goQuote).join(", ");
}
