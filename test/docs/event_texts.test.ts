/** The page about events says how to keep tags out of what strangers send. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { BoundEvent } from "../../src/events/match.ts";
import { decodeManifest } from "../../src/spec/schema/decode_manifest.ts";
import { parseDocuments } from "../../src/spec/parse.ts";

const [, example = ""] = /```yaml\n([^`]*name: build-on-push[^`]*)```/
  .exec(readFileSync("docs/events.md", "utf8")) ?? [];

test.each(["{{workflow.name}}", "{{{workflow.name}}", "{{{{workflow.name}}}}", "{{{=1+1}}"])(
  "the expression of its first binding leaves no tag of %s",
  (message) => {
    const binding = decodeManifest("WorkflowEventBinding", parseDocuments(example)[0]?.value);
    const payload = { after: "1", head_commit: { message } };
    const event = { namespace: "ns", discriminator: "", headers: [], payload };
    const template = { metadata: { name: "build" }, spec: {} };
    const workflow = new BoundEvent(event, binding)
      .submission(template, { labelPrefix: "" }, (base) => base);
    const [commit, text] = workflow?.spec.arguments?.parameters ?? [];
    expect(commit?.value).toBe("1");
    expect(text?.value?.replaceAll(" ", "")).toBe(message);
    expect(text?.value).not.toContain("{{");
  },
);
