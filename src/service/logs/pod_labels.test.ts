import { expect, test } from "vitest";
import { parseLabelSelector } from "../../expr/selectors/label_selector.ts";
import type { NodeStatus, Template, Workflow } from "../../spec/manifest.ts";
import { podLabelTest } from "./pod_labels.ts";

const template = (name: string, labels: Record<string, string>): Template => ({
  name,
  metadata: { labels },
  container: { image: "i" },
});

const WORKFLOW: Workflow = {
  metadata: { name: "w", namespace: "ns" },
  spec: {
    arguments: { parameters: [{ name: "team", value: "blue" }] },
    podMetadata: { labels: { team: "{{workflow.parameters.team}}", app: "all" } },
    templateDefaults: { metadata: { labels: { kind: "ordinary" } } } as unknown as Template,
    templates: [
      template("own", { app: "own" }),
      template("tagged", { of: "{{inputs.parameters.item}}", later: "{{steps.a.id}}" }),
    ],
  },
  status: {
    startedAt: null,
    finishedAt: null,
    storedTemplates: {
      "namespaced/lib/own": template("own", { app: "lib" }),
      "cluster/lib/own": template("own", { app: "everywhere" }),
    },
  },
};

const node = (more: Partial<NodeStatus>): NodeStatus => ({
  id: "n",
  name: "n",
  type: "Pod",
  startedAt: null,
  finishedAt: null,
  templateName: "own",
  templateScope: "local/w",
  ...more,
});
const inputs = { parameters: [{ name: "item", value: "7" }] };
const { templateName: _, ...nameless } = node({});
const REFERRED: NodeStatus = { ...nameless, templateRef: { name: "lib", template: "own" } };
const CLUSTER_WIDE: NodeStatus = {
  ...nameless,
  templateRef: { name: "lib", template: "own", clusterScope: true },
};

test.each([
  ["a label of its template", "app=own", node({}), true],
  ["another value", "app=lib", node({}), false],
  ["a stored template", "app=lib", node({ templateScope: "namespaced/lib" }), true],
  ["a reference", "app=lib", REFERRED, true],
  ["a reference to a cluster template", "app=everywhere", CLUSTER_WIDE, true],
  ["no label there", "of", node({}), false],
  ["a tag for an input", "of=7", node({ templateName: "tagged", inputs }), true],
  [
    "a tag that is not known beside it",
    "later,of=7",
    node({ templateName: "tagged", inputs }),
    true,
  ],
  ["the spec's label, under that of the template", "team=blue,app!=all", node({}), true],
  ["the spec's label alone", "app=all", node({ templateName: "inline" }), true],
  ["the defaults of templates", "kind in (ordinary)", node({}), true],
  ["the workflow", "p/workflow=w", node({}), true],
  ["another workflow", "p/workflow=v", node({}), false],
  ["one that runs", "p/completed=false", node({}), true],
  ["one that is over", "p/completed=true", node({ finishedAt: "2026-01-01T00:00:00Z" }), true],
  ["everything", "", node({}), true],
])("pods are selected by %s", (_what, selector, of, isSelected) => {
  expect(podLabelTest(WORKFLOW, parseLabelSelector(selector), "p/")(of)).toBe(isSelected);
});
