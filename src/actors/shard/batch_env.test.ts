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

test("a workflow is checked with the templates that are read here, unless its sender has checked it with them", async () => {
  const host = await deployment.replica("a");
  // Nobody calls it, so only the check can find what is wrong.
  const unused = { name: "unused", suspend: { duration: "{{inputs.parameters.none}}" } };
  const templates = [...TEMPLATE.spec.templates, unused];
  const metadata = { ...TEMPLATE.metadata, name: "broken" };
  const broken = { metadata, spec: { ...TEMPLATE.spec, templates } };
  const text = JSON.stringify(broken);
  const place = { kind: "WorkflowTemplate", namespace: "default", name: "broken" } as const;
  await deployment.store.manifests.put({ ...place, text, labels: {} }, undefined);
  const submit = async (name: string, manifests?: KnownManifests) => {
    const metadata = { name, namespace: "default" };
    const workflow = { metadata, spec: { workflowTemplateRef: { name: "broken" } } };
    await host.execute("default", name, { type: "submit", workflow }, manifests && { manifests });
    return (await deployment.workflow(name)).status;
  };
  expect(await submit("read")).toMatchObject({
    phase: "Failed",
    message: expect.stringMatching(/^invalid spec: /),
  });
  const known = new Map([["WorkflowTemplate/default/broken", broken]]);
  expect(await submit("known", known)).toMatchObject({ phase: "Running" });
});
