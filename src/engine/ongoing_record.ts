/**
 * What is under way with many nodes, as it is stored: part `r` is the plan of a retry, `o` what was asked about nodes that
 * wait. Nodes are told by their creation order, of which many follow each other.
 */
import { isJsonObject } from "../base/json.ts";
import type { EdgeLimit } from "./graph.ts";
import type { Order } from "./orders.ts";
import type { RetryPlan } from "./retry_plan.ts";
import type { NodeRecord } from "./state.ts";

/** Orders that are under way; their nodes as the first and last of each row. */
export interface StoredOrders {
  orders: { request: Order["request"]; nodes: number[] }[];
}

export function areOrders(value: unknown): boolean {
  return isJsonObject(value) && Array.isArray(value["orders"]) &&
    value["orders"].every((order) =>
      isJsonObject(order) && isJsonObject(order["request"]) && Array.isArray(order["nodes"])
    );
}

export function packOrders(
  nodes: ReadonlyMap<string, NodeRecord>,
  orders: readonly Order[],
): StoredOrders {
  return {
    orders: orders.map(({ request, nodes: ids }) => ({
      request,
      nodes: rowsOf(ordersOf(nodes, ids)),
    })),
  };
}

export function unpackOrders(
  nodes: ReadonlyMap<string, NodeRecord>,
  { orders }: StoredOrders,
): Order[] {
  const ordered = [...nodes.values()].sort((a, b) => a.order - b.order);
  return orders.map(({ request, nodes: rows }) => ({
    request,
    nodes: [...idsIn(ordered, rows)].reverse(),
  }));
}

export interface StoredPlan {
  /** First and last order of each row of nodes that follow each other. */
  remove: number[];
  reset: number[];
  limit?: EdgeLimit;
}

export function isPlan(value: unknown): boolean {
  return isJsonObject(value) && Array.isArray(value["remove"]) && Array.isArray(value["reset"]);
}

/** The plan for those nodes that are there. */
export function packPlan(
  nodes: ReadonlyMap<string, NodeRecord>,
  { remove, reset, limit }: RetryPlan,
): StoredPlan {
  const rows = (ids: ReadonlySet<string>) => rowsOf(ordersOf(nodes, ids));
  return {
    remove: rows(remove),
    reset: rows(reset),
    ...(limit === undefined ? {} : { limit }),
  };
}

export function unpackPlan(
  nodes: ReadonlyMap<string, NodeRecord>,
  { remove, reset, limit }: StoredPlan,
): RetryPlan {
  const ordered = [...nodes.values()].sort((a, b) => a.order - b.order);
  return {
    remove: idsIn(ordered, remove),
    reset: idsIn(ordered, reset),
    ...(limit === undefined ? {} : { limit }),
  };
}

function ordersOf(nodes: ReadonlyMap<string, NodeRecord>, ids: Iterable<string>): number[] {
  const orders = [...ids].map((id) => nodes.get(id)?.order).filter((order) => order !== undefined);
  return orders.sort((a, b) => a - b);
}

function rowsOf(orders: readonly number[]): number[] {
  const rows: number[] = [];
  for (const order of orders) {
    if (rows.at(-1) === order - 1) rows[rows.length - 1] = order;
    else rows.push(order, order);
  }
  return rows;
}

function idsIn(ordered: readonly NodeRecord[], rows: readonly number[]): Set<string> {
  const found = new Set<string>();
  let at = 0;
  for (const { id, order } of ordered) {
    while ((rows[at + 1] ?? Infinity) < order) at += 2;
    if (order >= (rows[at] ?? Infinity)) found.add(id);
  }
  return found;
}
