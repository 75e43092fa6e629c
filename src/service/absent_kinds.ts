/** Kinds that belong to another product: there are no objects of them here. */
import type { Caller } from "../auth/port.ts";
import { parseFieldSelector } from "../expr/selectors/field_selector.ts";
import { parseLabelSelector } from "../expr/selectors/label_selector.ts";
import { requireAccess } from "./access.ts";

export interface AbsentListRequest {
  namespace: string;
  labelSelector?: string;
  fieldSelector?: string;
}

/**
 * Checks a request for objects of which there are none, as one for objects that exist.
 * @throws {Problem} InvalidArgument, PermissionDenied
 */
export async function checkAbsentList(
  caller: Caller,
  verb: "list" | "watch",
  resource: string,
  { namespace, labelSelector = "", fieldSelector = "" }: AbsentListRequest,
): Promise<void> {
  parseLabelSelector(labelSelector);
  parseFieldSelector(fieldSelector);
  await requireAccess(caller, { verb, resource, namespace });
}
