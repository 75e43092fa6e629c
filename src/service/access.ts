/** Access checks, with the texts of the reference's refusals. */
import type { Access, Caller } from "../auth/port.ts";
import { Problem, ProblemCode } from "../base/problem.ts";
import { STANDARD_NAMING } from "../spec/naming.ts";

/**
 * @returns undefined when nobody has to be asked
 * @throws {Problem} PermissionDenied, worded as Kubernetes does, unless the caller has the right
 */
export function requireAccess(caller: Caller, access: Access): Promise<void> | undefined {
  return caller.isUnrestricted === true ? undefined : askForAccess(caller, access);
}

async function askForAccess(caller: Caller, access: Access): Promise<void> {
  if (await caller.may(access)) return;
  const group = access.group ?? caller.apiGroup ?? STANDARD_NAMING.apiGroup;
  const [resource] = access.resource.split("/");
  const named = access.name === undefined || access.name === ""
    ? ""
    : ` ${JSON.stringify(access.name)}`;
  const place = access.namespace === ""
    ? "at the cluster scope"
    : `in the namespace "${access.namespace}"`;
  throw new Problem(
    ProblemCode.PermissionDenied,
    `${group === "" ? resource : `${resource}.${group}`}${named} is forbidden: User ` +
      `"${caller.identity.subject ?? "system:anonymous"}" cannot ${access.verb} resource ` +
      `"${access.resource}" in API group "${group}" ${place}`,
  );
}

/** @throws {Problem} PermissionDenied with a bare text, as the reference does for reads from its own cache */
export async function requirePlainAccess(caller: Caller, access: Access): Promise<void> {
  if (await caller.may(access)) return;
  throw new Problem(ProblemCode.PermissionDenied, "permission denied");
}

/** @throws {Problem} PermissionDenied with advice when the caller may not list workflows there */
export async function requireWorkflowList(caller: Caller, namespace: string): Promise<void> {
  if (await caller.may({ verb: "list", resource: "workflows", namespace })) return;
  throw new Problem(
    ProblemCode.PermissionDenied,
    `Permission denied, you are not allowed to list workflows in namespace "${namespace}". Maybe you want to specify ` +
      `a namespace with query parameter \`.namespace=${namespace}\`?`,
  );
}
