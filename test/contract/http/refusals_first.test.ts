/** Requests that mean nothing are refused as such, whatever the caller may do. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { powerlessCaller } from "../../../src/auth/caller.ts";
import { type Instance, startInstance } from "../../support/api_server.ts";

let instance: Instance;
beforeAll(async () => {
  const authenticate = () => Promise.resolve(powerlessCaller({ subject: "visitor" }));
  instance = await startInstance({
    gatekeeper: { server: false, authenticators: [{ authenticate }] },
  });
});
afterAll(() => instance.stop());

test.each([
  ["POST", "/workflows/n", {}, "workflow body not specified"],
  [
    "POST",
    "/workflows/n/submit",
    { resourceKind: "Workflow" },
    "Resource kind 'Workflow' is not supported for submitting",
  ],
  ["GET", "/workflows/n?listOptions.continue=x", undefined, "listOptions.continue must be int"],
  [
    "GET",
    "/archived-workflows?listOptions.continue=x",
    undefined,
    "listOptions.continue must be int",
  ],
])("%s %s", async (method, path, body, message) => {
  const response = await instance.fetch(
    new Request(`http://localhost/api/v1${path}`, {
      method,
      headers: { authorization: "Bearer any" },
      ...(body && { body: JSON.stringify(body) }),
    }),
  );
  expect(response.status).toBe(400);
  expect(await response.json()).toEqual({ code: 3, message });
});
