import { expect, test } from "vitest";
import { ownFindings } from "./doctor_command.ts";

const OWN = { version: "1.2.3", askedAt: 100_000, now: 101_000 };
const statuses = (version: string, time: number) =>
  ownFindings({ version, time }, OWN).map(({ status }) => status);

test("the same version and a clock that agrees within five seconds are good", () => {
  expect(statuses("1.2.3", 100_500)).toEqual(["ok", "ok"]);
  expect(statuses("1.2.3", 95_000)).toEqual(["ok", "ok"]);
  expect(statuses("1.2.3", 106_000)).toEqual(["ok", "ok"]);
});

test("another version or clock is a warning with advice", () => {
  expect(statuses("1.2.2", 100_500)).toEqual(["warning", "ok"]);
  expect(statuses("1.2.3", 94_900)).toEqual(["ok", "warning"]);
  expect(statuses("1.2.3", 106_100)).toEqual(["ok", "warning"]);
  const [version, clock] = ownFindings({ version: "2.0.0", time: 1_000_000 }, OWN);
  expect(version?.advice).toContain("server's version");
  expect(clock?.message).toContain("899 s");
});
