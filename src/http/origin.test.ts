import { expect, test } from "vitest";
import { createOriginRule, type HostRule } from "./origin.ts";

const sentTo = (host: string) => ({ method: "GET", headers: new Headers({ host }), origin: null });

const statusOf = (host: string, hosts: HostRule | undefined): number =>
  createOriginRule({ allowed: [], hosts }).refusal(sentTo(host))?.status ?? 200;

const OF_THIS_MACHINE = ["localhost", "localhost:2746", "a.localhost", "127.0.0.1:1", "[::1]:1"];
const STRANGE = [
  "evil.example",
  "evil.example:2746",
  "127.0.0.1.evil.example",
  "localhost.evil.example",
  "sluice.example.evil",
  "xsluice.example",
  "a.b.wide.example.evil",
  "[::1].evil.example",
];

test.each(STRANGE)("a page can't call a server without authentication by the name %s", (host) => {
  expect(statusOf(host, "local")).toBe(421);
  expect(statusOf(host, ["box", "sluice.example", "*.wide.example"])).toBe(421);
  expect(statusOf(host, [])).toBe(421);
  // With authentication, or if every name is allowed, it may.
  expect(statusOf(host, undefined)).toBe(200);
  expect(statusOf(host, ["*"])).toBe(200);
});

test.each([...OF_THIS_MACHINE, "10.1.2.3:2746"])(
  "%s is an address or a name of this machine",
  (host) => {
    expect(statusOf(host, "local")).toBe(200);
    expect(statusOf(host, [])).toBe(200);
  },
);

test.each([
  ["sluice", []],
  ["sluice:2746", []],
  ["Sluice.Example:80", ["sluice.example"]],
  ["sluice.example.", ["SLUICE.example"]],
  ["a.wide.example", ["*.wide.example"]],
  ["a.b.wide.example", ["*.wide.example"]],
  ["rel-sluice.ns.svc.cluster.local:2746", ["rel-sluice.ns.svc.cluster.local"]],
])("%s is a name that the server has, with %j", (host, hosts) => {
  expect(statusOf(host, hosts)).toBe(200);
});

test("a name without a dot is refused by a server that serves only its own machine", () => {
  expect(statusOf("sluice", "local")).toBe(421);
  expect(statusOf("wide.example", ["*.wide.example"])).toBe(421);
});

test("the refusal says what to do", () => {
  const rule = createOriginRule({ allowed: [], hosts: [] });
  expect(rule.refusal(sentTo("a.example:80"))?.message).toContain(
    "--allowed-hosts a.example",
  );
});
