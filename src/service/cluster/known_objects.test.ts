import { expect, test } from "vitest";
import { KnownObjects } from "./known_objects.ts";
import type { ObjectFacts } from "./object_facts.ts";

function facts(uid: string, version: string): ObjectFacts {
  return { namespace: "ns", name: "w", uid, version, phase: "" } as ObjectFacts;
}

test("the answer to a patch brings back no object that is gone meanwhile", () => {
  const known = new KnownObjects("workflows.argoproj.io/");
  known.keep(facts("a", "1"));
  known.forget("ns/w");
  known.keepPatched(facts("a", "2"));
  known.takeOver(facts("a", "2"), { store: "s", spec: "", version: "" });
  expect(known.size).toBe(0);
  known.keep(facts("b", "3"));
  known.keepPatched(facts("a", "2"));
  expect(known.get("ns/w")?.uid).toBe("b");
  known.keepPatched(facts("b", "4"));
  expect(known.get("ns/w")?.version).toBe("4");
});
