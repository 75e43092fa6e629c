import { describe, expect, it } from "vitest";
import { Problem } from "../../base/problem.ts";
import { parseDocuments } from "../parse.ts";
import { decodeManifest } from "../schema/decode_manifest.ts";
import { checkSubscribedNamespaces, validateSubscription } from "./subscription.ts";

function refusal(
  more: string,
  start = "url: https://x.example/, secret: {name: s, key: k}",
): string {
  const [document] = parseDocuments(`metadata: {name: b}\nspec: {${start}${more && ", "}${more}}`);
  try {
    validateSubscription(decodeManifest("Subscription", document?.value));
  } catch (error) {
    if (error instanceof Problem) return error.message;
    throw error;
  }
  return "";
}

describe("validateSubscription() accepts", () => {
  it.each([
    [""],
    ["changes: [Started, Suspended, NodeFailed, Succeeded, Failed, DeadLetter]"],
    ["workflows: {labelSelector: 'a=b,c in (d,e)', template: t}"],
    [`workflows: {expression: 'workflow.labels["tier"] == "gold" && change == "Failed"'}`],
    [`workflows: {expression: 'node != nil && node.message contains "OOM"'}`],
    ["format: cloudevents, timeout: 30s, retryFor: 1h"],
    ["headers: [{name: X-Team, value: José ✓}]"],
    ["headers: [{name: Authorization, valueFrom: {secretKeyRef: {name: s, key: k}}}]"],
  ])("%s", (more) => expect(refusal(more)).toBe(""));
});

describe("validateSubscription() refuses", () => {
  it.each([
    ["changes: [Began]", 'spec.changes: "Began" is unknown, expected Started, Suspended'],
    ["format: xml", 'spec.format is "xml", expected standard, cloudevents'],
    ["timeout: 2m", "spec.timeout: 2m is not between 1s and 60s"],
    ["timeout: soon", "spec.timeout: "],
    ["retryFor: 1000h", "spec.retryFor: 1000h is not between 1s and 168h"],
    ["workflows: {labelSelector: 'a=='}", ""],
    ["workflows: {labelSelector: 'a=b=c'}", "spec.workflows.labelSelector: "],
    ["workflows: {expression: 'workflow.'}", "spec.workflows.expression is not a valid expression"],
    [
      "headers: [{name: 'a b', value: x}]",
      'spec.headers[0].name is "a b", which is not a valid name',
    ],
    ["headers: [{name: Webhook-Id, value: x}]", "which the server sets itself"],
    ['headers: [{name: a, value: "x\\r\\ny: z"}]', "spec.headers[0].value has more than"],
    ["headers: [{name: a, valueFrom: {secretKeyRef: {key: k}}}]", "needs a name and a key"],
  ])("%s", (more, text) => expect(refusal(more)).toContain(text));

  it.each([
    ["secret: {name: s, key: k}", 'spec.url is "", expected an http or https URL'],
    ["url: 'ftp://x', secret: {name: s, key: k}", "expected an http or https URL"],
    ["url: 'https://u:p@x/', secret: {name: s, key: k}", "spec.url holds a password"],
    ["url: 'https://x/'", "spec.secret.name and spec.secret.key are required"],
    ["url: 'https://x/', secret: {key: k}", "spec.secret.name and spec.secret.key are required"],
  ])("%s", (start, text) => expect(refusal("", start)).toContain(text));
});

describe("checkSubscribedNamespaces()", () => {
  const check = (namespaces: string[], namespace: string, admin: string) => () =>
    checkSubscribedNamespaces(
      { spec: { url: "", secret: { key: "" }, workflows: { namespaces } } },
      namespace,
      admin,
    );

  it("lets only the administrator's namespace subscribe to others", () => {
    expect(check([], "a", "")).not.toThrow();
    expect(check(["a"], "a", "")).not.toThrow();
    expect(check(["*"], "ops", "ops")).not.toThrow();
    expect(check(["b"], "a", "")).toThrow(/set --webhook-admin-namespace/);
    expect(check(["*"], "a", "ops")).toThrow(/only subscriptions in namespace ops/);
  });
});
