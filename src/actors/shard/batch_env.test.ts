import { afterEach, expect, test } from "vitest";
import { Deployment } from "../../../test/support/deployment.ts";
import type { KnownManifests } from "../port.ts";

const deployment = new Deployment();
afterEach(() => deployment.stop());

const TEMPLATE = {
  metadata: { name: "t", namespace: "default" },
  spec: { entrypoint: "main", templates: [{ name: "main", suspend: {} }] },
};

test("what the sender of a command has read is not read again; anything else is", async () => {
  const host = await deployment.replica("a");
  const submit = async (name: string, manifests?: KnownManifests) => {
    const metadata = { name, namespace: "default" };
    const workflow = { metadata, spec: { workflowTemplateRef: { name: "t" } } };
    await host.execute("default", name, { type: "submit", workflow }, manifests && { manifests });
    return (await deployment.workflow(name)).status?.phase;
  };
  const key = "WorkflowTemplate/default/t";
  expect(await submit("not-stored")).toBe("Error");
  expect(await submit("not-stored-but-known", new Map([[key, TEMPLATE]]))).toBe("Running");
  const text = JSON.stringify(TEMPLATE);
  const place = { kind: "WorkflowTemplate", namespace: "default", name: "t" } as const;
  await deployment.store.manifests.put({ ...place, text, labels: {} }, undefined);
  expect(await submit("stored")).toBe("Running");
  expect(await submit("known-not-to-be-there", new Map([[key, undefined]]))).toBe("Error");
});
