import { Command } from "commander";
import { expect, test } from "vitest";
import {
  addGlobalOptions,
  contextFrom,
  lengthOfTime,
  pairs,
  serverUrl,
  UsageError,
  wholeNumber,
} from "./context.ts";

const OPTIONS = { namespace: "default" };

test.each([
  ["nothing", {}, {}, "http://127.0.0.1:2746"],
  ["our variable", {}, { SLUICE_SERVER: "https://wf.example/" }, "https://wf.example"],
  ["the reference's variable, which means TLS", {}, { ARGO_SERVER: "h:1" }, "https://h:1"],
  ["… unless told", {}, { ARGO_SERVER: "h:1", ARGO_SECURE: "false" }, "http://h:1"],
  [
    "the reference's variable when ours is empty",
    {},
    { SLUICE_SERVER: "", ARGO_SERVER: "h:1", ARGO_SECURE: "" },
    "https://h:1",
  ],
  [
    "nothing, when variables are empty",
    {},
    { SLUICE_SERVER: "", ARGO_SERVER: "" },
    "http://127.0.0.1:2746",
  ],
  ["the option before variables", { server: "h:2" }, { ARGO_SERVER: "h:1" }, "http://h:2"],
  ["an option about TLS", { server: "h:2", secure: true }, {}, "https://h:2"],
  ["an address with blanks and a line end around it", { server: " h:1\r\n" }, {}, "http://h:1"],
  ["a path", { argoBaseHref: "/argo/" }, { SLUICE_SERVER: "h:1" }, "http://h:1/argo"],
])("the server is found by %s", (_, options, env, url) => {
  expect(serverUrl({ ...OPTIONS, ...options }, env)).toBe(url);
});

test.each(["redis://h:1", "http://", "h:1:2", "http://h:1/?a=b", "h:1/#a"])(
  "%s is no server",
  (server) => {
    expect(() => contextFrom({ ...OPTIONS, server })).toThrow(UsageError);
    expect(() => contextFrom({ ...OPTIONS, server })).toThrow(/, expected http:\/\/HOST:PORT or/);
  },
);

test("an empty variable or option does not choose all namespaces", () => {
  const chosen = (env: Record<string, string>, ...words: string[]) =>
    addGlobalOptions(new Command(), env).parse(words, { from: "user" })
      .opts<{ namespace: string; token?: string }>();
  expect(chosen({ SLUICE_NAMESPACE: "", SLUICE_TOKEN: "", ARGO_TOKEN: "t" }))
    .toMatchObject({ namespace: "default", token: "t" });
  expect(chosen({ SLUICE_NAMESPACE: "", ARGO_NAMESPACE: "team" }).namespace).toBe("team");
  expect(chosen({}, "-n", "").namespace).toBe("default");
  expect(chosen({ SLUICE_NAMESPACE: "team" }, "-n", "").namespace).toBe("team");
  expect(chosen({ SLUICE_NAMESPACE: "team" }, "-n", "own").namespace).toBe("own");
});

test("values of options are read, or refused with a hint what they should be", () => {
  expect(lengthOfTime("--since")("90")).toBe(90_000);
  expect(lengthOfTime("--since")("1h30m")).toBe(5_400_000);
  expect(() => lengthOfTime("--since")("soon")).toThrow(/--since takes a length of time such as/);
  expect(wholeNumber("--tail")("10")).toBe(10);
  expect(() => wholeNumber("--tail")("1.5")).toThrow(UsageError);
  expect([...pairs(["a=b=c", "d="], "a parameter")]).toEqual([["a", "b=c"], ["d", ""]]);
  expect(() => pairs(["a"], "a parameter")).toThrow(/Expected a parameter of the form NAME=VALUE/);
});
