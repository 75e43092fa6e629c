/** Routes about the deployment, for those who run it. */
import type { ReplicaReport } from "../../actors/port.ts";
import { defined } from "../../base/defined.ts";
import type { JsonObject } from "../../base/json.ts";
import { getSystem } from "../../service/system.ts";
import {
  always,
  int64,
  list,
  namedString,
  object,
  string,
  struct,
  type StructSchema,
} from "../../spec/schema/schema.ts";
import { type Route, unary } from "../route.ts";

const GO_PACKAGE = "sluice";

const REPLICA = struct("SystemReplica", () => ({
  name: always(string),
  answeredAfterMs: int64,
  shards: list(int64),
  actors: int64,
  tasks: int64,
  about: object("SystemReplicaAbout"),
}), GO_PACKAGE);

const STORE = struct("SystemStore", () => ({
  kind: always(string),
  durability: always(struct("SystemDurability", () => ({
    asked: always(string),
    promised: always(namedString("string", ["always", "everysec", "none", "unknown"])),
  }), GO_PACKAGE)),
  answeredAfterMs: int64,
  trouble: string,
}), GO_PACKAGE);

const SYSTEM: StructSchema = struct("System", () => ({
  version: always(string),
  shards: always(int64),
  replicas: always(list(REPLICA)),
  store: always(STORE),
  events: always(struct("SystemEvents", () => ({
    queued: int64,
    capacity: always(int64),
  }), GO_PACKAGE)),
}), GO_PACKAGE);

/** Every route about the deployment. */
export const SYSTEM_ROUTES: readonly Route[] = [
  unary({
    method: "GET",
    path: "/api/v1/system",
    operation: "SystemService_GetSystem",
    tag: "system",
    summary: "How the deployment is: replicas, shards, store, queue of events",
    answer: { type: "object", schema: SYSTEM },
    run: async (call) => {
      const { replicas, store, events, ...facts } = await getSystem(call.service, call.caller);
      return {
        ...facts,
        replicas: replicas.map(replicaWire),
        store: { ...store },
        events: { ...events },
      };
    },
  }),
];

function replicaWire({ replica, facts, answeredAfterMs }: ReplicaReport): JsonObject {
  return { name: replica, ...defined({ answeredAfterMs }), ...facts };
}
