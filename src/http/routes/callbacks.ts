/** Routes of callback URLs. The token in the path is the only credential, and is checked before the body is read. */
import { defined } from "../../base/defined.ts";
import { listCallbackKeys, rotateCallbackKeys } from "../../service/callbacks/rotate.ts";
import { admitCallback, checkCallback, takeCallback } from "../../service/callbacks/use.ts";
import type { CallbackVerb } from "../../spec/callback.ts";
import {
  CALLBACK_KEYS_ROTATE,
  CALLBACK_USE,
  type CallbackKeysRotateBody,
  type CallbackUseBody,
} from "../requests.ts";
import { idempotencyOf } from "../idempotency_header.ts";
import {
  always,
  boolean,
  list,
  string,
  struct,
  type StructSchema,
  time,
} from "../../spec/schema/schema.ts";
import { param, type Route, unary, type UnaryRoute } from "../route.ts";
import { formPage } from "./callback_pages.ts";

/** Largest body, bytes. */
const MAX_BODY_BYTES = 2 ** 18;

/** Whoever calls may do nothing but this. */
const CALLER = { identity: {}, may: () => Promise.resolve(false) };

function callback(verb: CallbackVerb, operation: string, summary: string): UnaryRoute {
  return unary<CallbackUseBody>({
    method: "POST",
    path: `/callback/${verb}/{token}`,
    operation,
    tag: "callbacks",
    summary,
    body: CALLBACK_USE,
    maxBodyBytes: MAX_BODY_BYTES,
    answerForm: (headers, answer) => formPage(verb, headers, answer),
    guard: async ({ service, params }) => {
      await admitCallback(service, param({ params }, "token"), verb);
      return { caller: CALLER };
    },
    run: async (call) => {
      const claims = await checkCallback(call.service, param(call, "token"), verb);
      const { outputs, message } = call.body;
      const body = defined({ outputs, message });
      // Keys of several callbacks never meet.
      const params = { ...call.params, namespace: `callback ${claims.uid} ${claims.node}` };
      const idempotency = await idempotencyOf({ ...call, params });
      return await takeCallback(call.service, claims, verb, body, idempotency);
    },
  });
}

const KEYS: StructSchema = struct("CallbackKeyList", () => ({
  items: always(list(struct("CallbackKey", () => ({
    id: always(string),
    signs: always(boolean),
    signsFrom: time,
    acceptedUntil: time,
  }), "sluice"))),
}), "sluice");

const KEY_ROUTES: readonly Route[] = [
  unary({
    method: "GET",
    path: "/api/v1/callback-keys",
    operation: "CallbackKeyService_ListCallbackKeys",
    tag: "callbacks",
    summary:
      "Which keys of callback URLs are accepted, and which one signs; never the keys themselves",
    answer: { type: "object", schema: KEYS },
    run: ({ service, caller }) => listCallbackKeys(service, caller),
  }),
  unary<CallbackKeysRotateBody>({
    method: "POST",
    path: "/api/v1/callback-keys",
    operation: "CallbackKeyService_RotateCallbackKeys",
    tag: "callbacks",
    summary:
      "Make a new key for callback URLs; earlier keys are accepted until their URLs have expired, or as long as you say",
    body: CALLBACK_KEYS_ROTATE,
    answer: { type: "object", schema: KEYS },
    run: ({ service, caller, body }) => rotateCallbackKeys(service, caller, body.acceptEarlier),
  }),
];

/** Every route of callback URLs. */
export const CALLBACK_ROUTES: readonly Route[] = [
  callback("resume", "CallbackService_Resume", "End the wait of a step, with its outputs"),
  callback("stop", "CallbackService_Stop", "Fail a step that waits, with a message"),
  callback("heartbeat", "CallbackService_Heartbeat", "Let the timeout of a step begin anew"),
  ...KEY_ROUTES,
];
