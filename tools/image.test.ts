import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { parseDocument } from "yaml";
import { startFlags } from "../test/support/start_flags.ts";
import { IMAGE_CONFIG } from "./image.ts";

/** Instructions of the Dockerfile's last stage, by name. */
function lastStage(): Map<string, string[]> {
  const [stage = ""] = readFileSync("Dockerfile", "utf8").split(/^FROM /m).slice(-1);
  const found = new Map<string, string[]>();
  for (const line of stage.split("\n").slice(1)) {
    const [, name = "", rest = ""] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    if (name !== "") found.set(name, [...(found.get(name) ?? []), rest]);
  }
  return found;
}

test("the Dockerfile's image starts as the one that is made without a daemon", () => {
  const stage = lastStage();
  expect([...stage.keys()].sort()).toEqual(
    ["COPY", "ENTRYPOINT", "ENV", "EXPOSE", "USER", "WORKDIR"],
  );
  expect(stage.get("COPY")).toEqual(["--from=build /image/ /"]);
  expect(JSON.parse(stage.get("ENTRYPOINT")?.[0] ?? "")).toEqual(IMAGE_CONFIG.Entrypoint);
  expect(stage.get("ENV")).toEqual(IMAGE_CONFIG.Env);
  expect(stage.get("USER")).toEqual([IMAGE_CONFIG.User]);
  expect(stage.get("WORKDIR")).toEqual([IMAGE_CONFIG.WorkingDir]);
  expect(stage.get("EXPOSE")).toEqual(Object.keys(IMAGE_CONFIG.ExposedPorts));
});

test("everything that the build copies is let through to it", () => {
  const text = readFileSync("Dockerfile", "utf8");
  const copied = [...text.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, list = ""]) =>
    list.split(" ")
  );
  const allowed = readFileSync(".dockerignore", "utf8").split("\n").filter((line) =>
    line.startsWith("!")
  ).map((line) => line.slice(1));
  expect(copied.sort()).toEqual(allowed.sort());
});

test("the server in the image may neither start programs nor write outside of /tmp", () => {
  const flags = IMAGE_CONFIG.Entrypoint.filter((flag) => flag.startsWith("--allow"));
  expect(flags.map((flag) => flag.split("=")[0]).sort()).toEqual(
    ["--allow-env", "--allow-net", "--allow-read", "--allow-sys", "--allow-write"],
  );
  expect(flags).toContain("--allow-write=/tmp");
  expect(IMAGE_CONFIG.User).not.toMatch(/^0|root/);
});

test("the image bounds the heap as the start task does, below the chart's limit", () => {
  const bound = startFlags().filter((flag) => flag.includes("max-old-space-size"));
  expect(bound).toHaveLength(1);
  expect(IMAGE_CONFIG.Entrypoint).toContain(bound[0]);
  const { resources } = parseDocument(readFileSync("helm/sluice/values.yaml", "utf8")).toJS();
  expect(resources.limits.memory).toBe("1Gi");
  expect(Number(bound[0]?.split("=").at(-1))).toBeLessThan(1_024);
});

test("the chart runs what the image is: its name, its user, its port", () => {
  const { image } = parseDocument(readFileSync("helm/sluice/values.yaml", "utf8")).toJS();
  const { appVersion } = parseDocument(readFileSync("helm/sluice/Chart.yaml", "utf8")).toJS();
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  expect([image.repository, image.tag, appVersion]).toEqual(["sluice", "", version]);
  const helpers = readFileSync("helm/sluice/templates/_helpers.tpl", "utf8");
  const [user, group] = IMAGE_CONFIG.User.split(":");
  expect(helpers).toContain(`runAsUser: ${user}\nrunAsGroup: ${group}`);
  expect(readFileSync("helm/sluice/templates/deployment.yaml", "utf8")).toContain(
    `containerPort: ${Object.keys(IMAGE_CONFIG.ExposedPorts)[0]?.split("/")[0]}`,
  );
});
