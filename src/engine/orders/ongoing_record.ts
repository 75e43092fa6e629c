/**
 * The stored form of work on many nodes: part `r` is the plan of a manual retry, part `o` holds requests about nodes that
 * wait. Nodes are stored as ranges of their creation order.
 */
import { isJsonObject } from "../../base/json.ts";
import type { EdgeLimit, NodeOrder, RetryPlan } from "../ongoing.ts";
import { byOrder, type NodeRecord } from "../records.ts";

/** Requests that are under way. `nodes` holds the first and last creation order of each range. */
export interface StoredOrders {
  orders: { request: NodeOrder["request"]; nodes: number[] }[];
}

/** Tells whether a stored value can be unpacked as requests. */
export function areOrders(value: unknown): boolean {
  return isJsonObject(value) && Array.isArray(value["orders"]) &&
    value["orders"].every((order) =>
      isJsonObject(order) && isJsonObject(order["request"]) && Array.isArray(order["nodes"])
    );
}

/** The stored form of requests; nodes that no longer exist are left out. */
export function packOrders(
  nodes: ReadonlyMap<string, NodeRecord>,
  orders: readonly NodeOrder[],
): StoredOrders {
  return {
    orders: orders.map(({ request, nodes: ids }) => ({
      request,
      nodes: rangesOf(creationOrders(nodes, ids)),
    })),
  };
}

/** The requests of a stored form. The next node comes last. */
export function unpackOrders(
  nodes: ReadonlyMap<string, NodeRecord>,
  { orders }: StoredOrders,
): NodeOrder[] {
  const ordered = [...nodes.values()].sort(byOrder);
  return orders.map(({ request, nodes: ranges }) => ({
    request,
    nodes: [...idsIn(ordered, ranges)].reverse(),
  }));
}

export interface StoredPlan {
  /** The first and last creation order of each range of nodes. */
  remove: number[];
  reset: number[];
  late?: number[];
  limit?: EdgeLimit;
}

/** Tells whether a stored value can be unpacked as a plan. */
export function isPlan(value: unknown): boolean {
  return isJsonObject(value) && Array.isArray(value["remove"]) && Array.isArray(value["reset"]) &&
    (value["late"] === undefined || Array.isArray(value["late"]));
}

/** The stored form of a plan; nodes that no longer exist are left out. */
export function packPlan(
  nodes: ReadonlyMap<string, NodeRecord>,
  { remove, reset, late, limit }: RetryPlan,
): StoredPlan {
  const ranges = (ids: ReadonlySet<string>) => rangesOf(creationOrders(nodes, ids));
  return {
    remove: ranges(remove),
    reset: ranges(reset),
    ...(late === undefined ? {} : { late: ranges(late) }),
    ...(limit === undefined ? {} : { limit }),
  };
}

/** The plan of a stored form. */
export function unpackPlan(
  nodes: ReadonlyMap<string, NodeRecord>,
  { remove, reset, late, limit }: StoredPlan,
): RetryPlan {
  const ordered = [...nodes.values()].sort(byOrder);
  return {
    remove: idsIn(ordered, remove),
    reset: idsIn(ordered, reset),
    ...(late === undefined ? {} : { late: idsIn(ordered, late) }),
    ...(limit === undefined ? {} : { limit }),
  };
}

function creationOrders(nodes: ReadonlyMap<string, NodeRecord>, ids: Iterable<string>): number[] {
  const orders = [...ids].map((id) => nodes.get(id)?.order).filter((order) => order !== undefined);
  return orders.sort((a, b) => a - b);
}

function rangesOf(orders: readonly number[]): number[] {
  const ranges: number[] = [];
  for (const order of orders) {
    if (ranges.at(-1) === order - 1) ranges[ranges.length - 1] = order;
    else ranges.push(order, order);
  }
  return ranges;
}

function idsIn(ordered: readonly NodeRecord[], ranges: readonly number[]): Set<string> {
  const found = new Set<string>();
  let at = 0;
  for (const { id, order } of ordered) {
    while ((ranges[at + 1] ?? Infinity) < order) at += 2;
    if (order >= (ranges[at] ?? Infinity)) found.add(id);
  }
  return found;
}
