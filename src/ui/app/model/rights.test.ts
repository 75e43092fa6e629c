import { expect, test } from "vitest";
import { VERBS } from "./actions.ts";
import { NAVIGATION } from "../paths.ts";
import {
  ALL_RIGHTS,
  may,
  mayAct,
  mayActOnArchived,
  mayReadLogs,
  maySee,
  maySubmit,
  type Rights,
} from "./rights.ts";

const reader: Rights = {
  resources: { workflows: ["get", "list", "watch"], "pods/log": ["get"] },
  namespaces: ["team"],
};

test("who may only read is offered no action", () => {
  expect(VERBS.filter((verb) => mayAct(reader, verb))).toEqual([]);
  expect(mayReadLogs(reader)).toBe(true);
  expect(may(reader, "workflowtemplates", "list")).toBe(false);
});

test("each action needs its own rights", () => {
  const may = (...workflows: string[]) => {
    const rights = { resources: { workflows }, namespaces: [] };
    return VERBS.filter((verb) => mayAct(rights, verb));
  };
  expect(may("get", "update")).toEqual(["suspend", "resume", "retry"]);
  expect(may("get", "patch")).toEqual(["stop", "terminate"]);
  expect(may("get", "create")).toEqual(["resubmit"]);
  expect(may("get", "delete")).toEqual(["delete"]);
  expect(may("update", "patch", "create", "delete")).toEqual([]);
});

test("nothing is offered before the rights are known, everything where the server can't tell", () => {
  expect(mayAct(undefined, "delete")).toBe(false);
  expect(mayAct(ALL_RIGHTS, "delete")).toBe(true);
});

test("a deleted workflow comes back only for who may also create", () => {
  const mayRetry = (verbs: string[], isOnlyArchived: boolean) =>
    mayActOnArchived({ resources: { workflows: verbs }, namespaces: [] }, "retry", isOnlyArchived);
  expect(mayRetry(["get", "update"], false)).toBe(true);
  expect(mayRetry(["get", "update"], true)).toBe(false);
  expect(mayRetry(["get", "update", "create"], true)).toBe(true);
  expect(mayRetry(["get", "create"], true)).toBe(false);
});

test("the navigation leads to what the visitor may see somewhere", () => {
  const keysFor = (rights: Rights | undefined) =>
    NAVIGATION.filter((entry) => maySee(rights, entry)).map(({ key }) => key);
  const all = NAVIGATION.map(({ key }) => key);
  expect(keysFor(undefined)).toEqual(all);
  expect(keysFor(ALL_RIGHTS)).toEqual(all);
  const somewhere = (rights: Record<string, string[]>): Rights => ({
    resources: {},
    namespaces: ["team"],
    somewhere: rights,
  });
  expect(keysFor(somewhere({ workflows: ["get", "list"] })))
    .toEqual(["workflows", "waiting", "archive", "locks"]);
  expect(keysFor(somewhere({ clusterworkflowtemplates: ["list"] }))).toEqual(["templates"]);
  expect(keysFor(somewhere({ system: ["get"] }))).toEqual(["system"]);
  expect(keysFor(somewhere({}))).toEqual([]);
});

test("over all namespaces, one in which the visitor may submit is enough", () => {
  const rights = { resources: { workflows: [] }, namespaces: ["team"] };
  expect(maySubmit(rights)).toBe(false);
  expect(maySubmit({ ...rights, somewhere: { workflows: ["create"] } })).toBe(true);
});
