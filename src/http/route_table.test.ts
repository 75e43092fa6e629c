import { expect, test } from "vitest";
import { RouteTable } from "./route_table.ts";

const table = new RouteTable<string>();
for (
  const [method, path] of [
    ["GET", "/api/a/{namespace}"],
    ["POST", "/api/a/{namespace}/lint"],
    ["GET", "/api/a/{namespace}/{name}"],
    ["PUT", "/api/a/{namespace}/{name}/stop"],
    ["GET", "/files/{uid}"],
    ["GET", "/files/{uid}/{path}"],
  ] as const
) table.add(method, path, path);

test.each([
  ["GET", "/api/a/x", "/api/a/{namespace}"],
  ["GET", "/api/a/", "/api/a/{namespace}"],
  ["GET", "/api/a", undefined],
  ["GET", "/api/a/x/lint", "/api/a/{namespace}/{name}"],
  ["POST", "/api/a/x/lint", "/api/a/{namespace}/lint"],
  ["POST", "/api/a/x/lint/", undefined],
  ["POST", "/api/a/x/y", undefined],
  ["GET", "/api/a/x/", "/api/a/{namespace}/{name}"],
  ["GET", "/api/a/x%2Fy", "/api/a/{namespace}"],
  ["PUT", "/api/a/x/lint/stop", "/api/a/{namespace}/{name}/stop"],
  ["PUT", "/api/a/x/y/stop/z", undefined],
  ["GET", "/files/u", "/files/{uid}"],
  ["GET", "/files/u/", "/files/{uid}/{path}"],
  ["GET", "/files/u/a/b", "/files/{uid}/{path}"],
  ["GET", "/", undefined],
])("%s %s leads to %s", (method, path, route) => {
  expect(table.find(method, path)).toBe(route);
});

test("methodsOf() names the methods of a path, in the order in which they were added", () => {
  expect(table.methodsOf("/api/a/x/lint")).toEqual(["GET", "POST"]);
  expect(table.methodsOf("/api/a/x/y/stop")).toEqual(["PUT"]);
  expect(table.methodsOf("/api/b")).toEqual([]);
});
