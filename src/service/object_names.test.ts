import { expect, test } from "vitest";
import { WORKFLOW } from "./kinds.ts";
import type { ObjectMeta } from "../spec/manifest.ts";
import { checkMetadata, generateName, namespaceOf } from "./object_names.ts";
import { STANDARD_NAMING } from "../spec/naming.ts";

test("generateName() cuts the base to 58 characters and adds five letters without vowels", () => {
  const name = generateName("a".repeat(70), () => 0.999);
  expect(name).toBe("a".repeat(58) + "99999");
  expect(generateName("x-", () => 0)).toBe("x-bbbbb");
});

const OWNER = { apiVersion: "v1", kind: "Pod", name: "p", uid: "u" };

test.each([
  [{ name: "dots.are.fine" }],
  [{ name: "ok", labels: { "ok.example/key": "v_1.x-2", empty: "" } }],
  [{ name: "ok", annotations: { "A.example/Key": "any text\n" } }],
  [{ name: "ok", annotations: { a: "y".repeat(200_000), b: "é".repeat(31_071) } }],
  [{ name: "ok", finalizers: ["keep", "a.example/keep"] }],
  [{ name: "a-b", generateName: "a-" }],
  [{ name: "ok", ownerReferences: [OWNER, { ...OWNER, name: "other", controller: true }] }],
])("checkMetadata(%j) passes", (metadata) => {
  expect(() => checkMetadata({ settings: { naming: STANDARD_NAMING } }, WORKFLOW, metadata, true))
    .not.toThrow();
});

test.each([
  [{}, "metadata.name: Required value"],
  [{ name: "Upper_Case" }, 'Workflow.argoproj.io "Upper_Case" is invalid: metadata.name: Invalid'],
  [{ name: "-dash" }, "metadata.name"],
  [{ name: "a".repeat(254) }, "no more than 253"],
  [{ name: "a/b" }, "metadata.name"],
  [{ name: "ok", namespace: "No" }, "metadata.namespace"],
  [{ name: "ok", labels: { k: "no spaces" } }, "metadata.labels"],
  [{ name: "ok", labels: { "bad key": "v" } }, "metadata.labels"],
  [{ name: "ok", annotations: { "bad key": "v" } }, "metadata.annotations"],
  [
    { name: "ok", annotations: { a: "y".repeat(200_000), b: "é".repeat(31_072) } },
    "metadata.annotations: Too long: may not be more than 262144 bytes",
  ],
  [
    { name: "ok", ownerReferences: [{ apiVersion: "batch/", kind: "Job", name: "j", uid: "u" }] },
    'metadata.ownerReferences.apiVersion: Invalid value: "batch/": version must not be empty',
  ],
  [
    { name: "ok", ownerReferences: [{ ...OWNER, uid: "" }] },
    'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
  ],
  [
    {
      name: "ok",
      ownerReferences: [{ ...OWNER, controller: true }, { ...OWNER, name: "q", controller: true }],
    },
    "Only one reference can have Controller set to true",
  ],
  [{ name: "a.b", generateName: "a." }, 'metadata.generateName: Invalid value: "a."'],
  [{ name: "-b", generateName: "-" }, '[metadata.generateName: Invalid value: "-"'],
  [{ name: "a", generateName: "a".repeat(300) }, "metadata.generateName"],
  [{ name: "ok", finalizers: ["bad one"] }, 'metadata.finalizers: Invalid value: "bad one"'],
])("checkMetadata(%j) refuses", (metadata, text) => {
  expect(() => checkMetadata({ settings: { naming: STANDARD_NAMING } }, WORKFLOW, metadata, true))
    .toThrow(
      expect.objectContaining({ status: 400, message: expect.stringContaining(text) }),
    );
});

test("namespaceOf() takes the request's namespace and refuses another one", () => {
  expect(namespaceOf({}, "a")).toBe("a");
  expect(namespaceOf({ namespace: "a" }, "a")).toBe("a");
  expect(() => namespaceOf({ namespace: "b" }, "a")).toThrow(/does not match/);
  expect(() => namespaceOf({}, "")).toThrow(/empty namespace/);
});

test("a refusal names a hundred wrong keys at most", () => {
  const annotations = Object.fromEntries(Array.from({ length: 2_000 }, (_, at) => [`@${at}`, ""]));
  let text = "";
  try {
    checkMetadata({ settings: { naming: STANDARD_NAMING } }, WORKFLOW, { name: "a", annotations });
  } catch (refusal) {
    text = String(refusal);
  }
  expect(text).toContain('"@99"');
  expect(text).not.toContain('"@100"');
});

test("of annotations that are too long together, and of many owners, a refusal says so without naming all", () => {
  const refusalOf = (metadata: ObjectMeta) => {
    try {
      checkMetadata({ settings: { naming: STANDARD_NAMING } }, WORKFLOW, metadata);
      return "";
    } catch (refusal) {
      return String(refusal);
    }
  };
  const annotations = Object.fromEntries(
    Array.from({ length: 3_000 }, (_, at) => [`@${at}`, "x".repeat(100)]),
  );
  expect(refusalOf({ name: "a", annotations })).toMatch(
    /is invalid: metadata\.annotations: Too long: may not be more than 262144 bytes$/,
  );
  const ownerReferences = Array.from({ length: 60_000 }, () => ({}));
  expect(refusalOf({ name: "a", ownerReferences } as ObjectMeta).length).toBeLessThan(10_000);
});
