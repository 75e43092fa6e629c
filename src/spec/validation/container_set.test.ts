import { expect, test } from "vitest";
import type { Container } from "../manifest.ts";
import { checkContainerSet } from "./container_set.ts";
import { validateWorkflow } from "./validate.ts";

const check = (containers: Container[]) =>
  checkContainerSet("templates.m", { name: "m", containerSet: { containers } });

/** `c0` waits for `c1`, which waits for `c2`, and so on. */
const chain = (length: number): Container[] =>
  Array.from({ length }, (_, at) => ({
    name: `c${at}`,
    image: "i",
    ...(at + 1 < length && { dependencies: [`c${at + 1}`] }),
  }));

test("a chain of containers may be as long as a body allows", () => {
  expect(() => check(chain(30_000))).not.toThrow();
});

test("a cycle is told as it is met, at the end of a long chain too", () => {
  const long = chain(20_000);
  long.push({ name: "last", image: "i", dependencies: ["c0"] });
  long[19_999] = { name: "c19999", image: "i", dependencies: ["last"] };
  expect(() => check(long)).toThrow(/cycle detected: c1->c2->.*->c19999->last->c0->c1$/);
});

test("a cycle is looked for from the first name on, and begins with what that depends on", () => {
  const set = (dependencies: Record<string, string[]>) =>
    Object.entries(dependencies).map(([name, dependencies]) => ({
      name,
      image: "i",
      dependencies,
    }));
  expect(() => check(set({ b: ["c"], c: ["b"], a: ["b"] }))).toThrow("detected: b->c->b");
  expect(() => check(set({ a: ["b"], b: ["a"] }))).toThrow("detected: b->a->b");
  expect(() => check(set({ a: ["a"] }))).toThrow("detected: a->a");
  expect(() => check(set({ a: ["b", "c"], b: ["d"], c: ["d"], d: [] }))).not.toThrow();
});

test("a pod may have a thousand containers, with its init containers and sidecars", () => {
  const validate = (containers: Container[], others: number) => {
    const extra = (name: string) =>
      Array.from({ length: others }, (_, at) => ({ name: `${name}${at}`, image: "i" }));
    const template = {
      name: "m",
      containerSet: { containers },
      initContainers: extra("i"),
      sidecars: extra("s"),
    };
    const workflow = { metadata: { name: "w" }, spec: { entrypoint: "m", templates: [template] } };
    validateWorkflow(workflow, { findTemplate: () => undefined });
  };
  expect(() => validate(chain(1_000), 0)).not.toThrow();
  expect(() => validate(chain(998), 1)).not.toThrow();
  const text = "templates.m has 1001 containers with initContainers and sidecars: " +
    "a pod may have at most 1000";
  expect(() => validate(chain(999), 1)).toThrow(text);
  const cycle = chain(2_000);
  cycle[1_999] = { name: "c1999", image: "i", dependencies: ["c0"] };
  expect(() => validate(cycle, 0)).toThrow("cycle detected");
});
