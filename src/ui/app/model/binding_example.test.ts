import { expect, test } from "vitest";
import { parse } from "yaml";
import type { WorkflowEventBinding } from "../../../spec/manifest.ts";
import { bindingFor } from "./binding_example.ts";

const specOf = (discriminator: string, payload: unknown) =>
  (parse(bindingFor(discriminator, payload)) as WorkflowEventBinding).spec;

test("a binding for an event asks for what tells its kind, and takes the rest as parameters", () => {
  const spec = specOf("build", { action: "opened", number: 7, who: { name: "ada" } });
  expect(spec.event.selector).toBe('discriminator == "build" && payload.action == "opened"');
  expect(spec.submit?.arguments?.parameters).toEqual([
    { name: "number", valueFrom: { event: "payload.number" } },
    { name: "who", valueFrom: { event: "payload.who" } },
  ]);
});

test.each([[null], [7], ["text"], [[{ action: "x" }]], [{}]])(
  "of an event without members, such as %j, only the discriminator counts",
  (payload) => {
    expect(specOf("d", payload).event.selector).toBe('discriminator == "d"');
    expect(specOf("", payload).event.selector).toBe("true");
    expect(specOf("", payload).submit?.arguments).toBeUndefined();
  },
);

test("what could end a text or a line is left out", () => {
  const spec = specOf('a" || true || "', {
    action: '" || true',
    state: "it's",
    type: "a\nb",
    "x: y": 1,
    "a'b": 2,
    null: 3,
    True: 4,
    in: 5,
    event: "push",
  });
  expect(spec.event.selector).toBe('payload.event == "push"');
  expect(spec.submit?.arguments).toBeUndefined();
  const many = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`p${at}`, at]));
  expect(specOf("", many).submit?.arguments?.parameters).toHaveLength(5);
});
