import { expect, test } from "vitest";
import type { Identity } from "../auth/port.ts";
import { idempotencyOf } from "./idempotency_header.ts";
import type { Call } from "./route.ts";

async function keyOf(identity: Identity, namespace = "ns"): Promise<string | undefined> {
  const call = {
    operation: "CreateWorkflow",
    headers: new Headers({ "idempotency-key": "k" }),
    caller: { identity },
    params: { namespace },
    body: {},
    service: { settings: {} },
  } as unknown as Call;
  return (await idempotencyOf(call))?.key;
}

test("two callers never share a key: not with one subject of two issuers, nor in two namespaces", async () => {
  const callers: Identity[] = [
    {},
    { subject: "u" },
    { issuer: "https://a", subject: "u" },
    { issuer: "https://b", subject: "u" },
    { issuer: "https://a", subject: "v" },
  ];
  const keys = await Promise.all([
    ...callers.map((one) => keyOf(one)),
    keyOf({ subject: "u" }, "other"),
  ]);
  expect(new Set(keys).size).toBe(6);
  expect(await keyOf({ issuer: "https://a", subject: "u" })).toBe(keys[2]);
});
