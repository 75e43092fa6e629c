/** What a client hears that speaks gRPC, as `argo` does unless it is told otherwise. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Instance, startInstance } from "../../support/api_server.ts";

let instance: Instance;
beforeAll(async () => {
  instance = await startInstance({ gatekeeper: { server: true, authenticators: [] } });
});
afterAll(() => instance.stop());

test("a gRPC call is refused in gRPC's own form, with what to set", async () => {
  const response = await instance.fetch(
    new Request("http://localhost/workflow.WorkflowService/ListWorkflows", {
      method: "POST",
      headers: { "content-type": "application/grpc" },
      body: new Uint8Array(5),
    }),
  );
  expect(response.status).toBe(200);
  expect(await response.text()).toBe("");
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "content-type": "application/grpc",
    "grpc-status": "12",
    "grpc-message": expect.stringContaining("ARGO_HTTP1=true") as string,
  });
});
