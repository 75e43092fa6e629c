/** What a task used, as `status.resourcesDuration` counts it: requested amount × seconds ÷ unit, never below a minimum. */
import { isJsonObject } from "../base/json.ts";
import type { Container } from "../spec/manifest.ts";

const MIB = 1024 * 1024;
const SUFFIX: Record<string, number> = {
  "": 1,
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 1024,
  Mi: MIB,
  Gi: 1024 * MIB,
  Ti: MIB * MIB,
  Pi: 1024 * MIB * MIB,
  Ei: MIB * MIB * MIB,
};

/** Reads a Kubernetes quantity such as `100m`, `1.5Gi` or `2e3`; undefined when it is none. */
export function parseQuantity(text: unknown): number | undefined {
  const match = /^([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)([numkMGTPE]|[KMGTPE]i)?$/.exec(
    String(text).trim(),
  );
  const factor = SUFFIX[match?.[2] ?? ""];
  return match === null || factor === undefined ? undefined : Number(match[1]) * factor;
}

function unitOf(resource: string): number {
  if (resource === "memory") return 100 * MIB;
  if (resource === "ephemeral-storage") return 10 * 1024 * MIB;
  return 1;
}

/** A request may be any number, also one that is infinite here and that JSON has none for. */
function bounded(amount: number): number {
  return Math.min(Math.max(amount, -Number.MAX_SAFE_INTEGER), Number.MAX_SAFE_INTEGER);
}

/** Whole seconds of use by resource for one container that ran for `seconds`. */
export function resourcesDuration(container: Container, seconds: number): Record<string, number> {
  const amounts: Record<string, number> = { cpu: 0.1, memory: 100 * MIB };
  const { requests, limits } = container.resources ?? {};
  for (const given of [limits, requests]) {
    if (!isJsonObject(given)) continue;
    for (const [resource, text] of Object.entries(given)) {
      const amount = parseQuantity(text);
      if (amount !== undefined) amounts[resource] = amount;
    }
  }
  const used: Record<string, number> = {};
  for (const [resource, amount] of Object.entries(amounts)) {
    used[resource] = bounded(
      Math.trunc((bounded(amount) * Math.max(0, seconds)) / unitOf(resource)),
    );
  }
  return used;
}

/** Adds `more` to `sum`, resource by resource. */
export function addResources(
  sum: Record<string, number>,
  more: Record<string, number>,
): Record<string, number> {
  const total = { ...sum };
  for (const [resource, seconds] of Object.entries(more)) {
    total[resource] = (total[resource] ?? 0) + seconds;
  }
  return total;
}
