import { expect, test } from "vitest";
import { controllerSettings } from "./controller_settings.ts";

const names = (data: object) => controllerSettings({ data } as never).map(({ name }) => name);

test("settings are read as members, and as the one text of older installations", () => {
  expect(names({ parallelism: "10", instanceID: "a" })).toEqual(["instanceID", "parallelism"]);
  expect(names({ config: "parallelism: 10\nsso: {issuer: x}\n" })).toEqual(["parallelism", "sso"]);
  expect(names({ config: "# none", links: "[]" })).toEqual(["links"]);
  expect(controllerSettings({ data: { config: "{" } } as never)).toEqual([
    { name: "config", advice: expect.stringContaining("not YAML") },
  ]);
});

test("each setting says what to do, also one that nobody knows", () => {
  const [known, unknown] = controllerSettings({ data: { persistence: "x", toString: "y" } });
  expect(known?.advice).toContain("--archive-store");
  expect(unknown).toEqual({ name: "toString", advice: "is not known here" });
});

test("settings of version 4 are known", () => {
  const data = { artifactDrivers: "[]", failedPodRestart: "enabled: true" };
  const advice = controllerSettings({ data } as never).map((setting) => setting.advice);
  expect(advice).toEqual([
    expect.stringContaining("--artifacts"),
    expect.stringContaining("retryStrategy"),
  ]);
});
