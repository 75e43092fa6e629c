import { expect, test } from "vitest";
import { actorLabels, creatorLabels, labelValueFrom, withLabels } from "./caller_labels.ts";

const PREFIX = "workflows.argoproj.io/";

test.each([
  ["system:serviceaccount:argo:jenkins", "system-serviceaccount-argo-jenkins"],
  ["Ann A", "Ann-A"],
  ["-weird:" + "z".repeat(70) + "!", "z".repeat(62)],
  ["!!!", ""],
])("labelValueFrom(%j)", (text, label) => {
  expect(labelValueFrom(text)).toBe(label);
});

test("creatorLabels() replaces what the client wrote and removes what is not known", () => {
  const forged = {
    "workflows.argoproj.io/creator": "forged",
    "workflows.argoproj.io/creator-email": "forged",
    "workflows.argoproj.io/controller-instanceid": "forged",
    "workflows.argoproj.io/action": "forged",
    k: "v",
  };
  const ann = creatorLabels({ subject: "ann", preferredUsername: "Ann A" }, PREFIX);
  expect(withLabels({ metadata: { labels: forged } }, ann).metadata.labels).toEqual({
    "workflows.argoproj.io/creator": "ann",
    "workflows.argoproj.io/creator-preferred-username": "Ann-A",
    k: "v",
  });
  const onlyForged = { metadata: { labels: { "workflows.argoproj.io/creator": "forged" } } };
  expect(withLabels(onlyForged, creatorLabels({}, PREFIX)).metadata).not.toHaveProperty("labels");
});

test("actorLabels() names the action only for a known caller", () => {
  expect(actorLabels({ email: "e@v.e" }, "Stop", PREFIX)).toEqual({
    "workflows.argoproj.io/actor": null,
    "workflows.argoproj.io/actor-email": "e.at.v.e",
    "workflows.argoproj.io/actor-preferred-username": null,
    "workflows.argoproj.io/action": "Stop",
  });
  // A label must not say that somebody else did what nobody knows who did.
  expect(actorLabels({}, "Stop", PREFIX)).toHaveProperty(["workflows.argoproj.io/action"], null);
  expect(actorLabels({ subject: "ann" }, undefined, PREFIX))
    .toHaveProperty(["workflows.argoproj.io/action"], null);
});
