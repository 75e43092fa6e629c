import { expect, test } from "vitest";
import { belongsTo, NAVIGATION, titleAt } from "./paths.ts";

test.each([
  ["/", "", "/"],
  ["/workflows/shop/order-1", "", "/"],
  ["/events/bindings/shop/paid", "", "/events"],
  ["/templates/notify", "", "/templates"],
  ["/edit", "kind=WorkflowTemplate&namespace=a&name=b", "/templates"],
  ["/edit", "kind=ClusterWorkflowTemplate", "/templates"],
  ["/edit", "kind=CronWorkflow", "/cron"],
  ["/edit", "kind=WorkflowEventBinding", "/events"],
  ["/edit", "kind=Secret", undefined],
  ["/login", "kind=CronWorkflow", undefined],
])("%s?%s belongs to the entry %s", (path, query, entry) => {
  const found = NAVIGATION.filter((one) => belongsTo(one.path, path, new URLSearchParams(query)));
  expect(found.map((one) => one.path)).toEqual(entry === undefined ? [] : [entry]);
});

test.each([
  ["/", "", "Workflows"],
  ["/workflows/shop/order-1", "", "order-1"],
  ["/edit", "kind=CronWorkflow", "New cron workflow"],
  ["/edit", "kind=CronWorkflow&namespace=a&name=nightly", "Edit the cron workflow nightly"],
  ["/edit", "kind=Secret&name=x", "Edit a manifest"],
  ["/nowhere", "", "There is no such page"],
])("%s?%s has the title %s", (path, query, title) => {
  expect(titleAt(path, new URLSearchParams(query))).toBe(title);
});
