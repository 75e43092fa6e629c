import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseDocument } from "yaml";
import { startFlags } from "../test/support/start_flags.ts";
import { IMAGE_CONFIG, SERVER_COMMAND } from "./image.ts";
import { createSbom, partsOfFiles, partsOfLock } from "./image_sbom.ts";

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
  const names = "COPY USER WORKDIR ENV LABEL EXPOSE VOLUME HEALTHCHECK ENTRYPOINT";
  expect([...stage.keys()].join(" ")).toBe(names);
  expect(stage.get("COPY")).toEqual(["--from=build /image/ /"]);
  expect(JSON.parse(stage.get("ENTRYPOINT")?.[0] ?? "")).toEqual(IMAGE_CONFIG.Entrypoint);
  expect(stage.get("ENV")).toEqual(IMAGE_CONFIG.Env);
  expect(stage.get("USER")).toEqual([IMAGE_CONFIG.User]);
  expect(stage.get("WORKDIR")).toEqual([IMAGE_CONFIG.WorkingDir]);
  expect(stage.get("EXPOSE")).toEqual(Object.keys(IMAGE_CONFIG.ExposedPorts));
  expect(stage.get("VOLUME")).toEqual(Object.keys(IMAGE_CONFIG.Volumes));
  const labels = Object.entries(IMAGE_CONFIG.Labels);
  expect(stage.get("LABEL")).toEqual(labels.map(([name, value]) => `${name}="${value}"`));
  const { Test, Interval, Timeout, StartPeriod, Retries } = IMAGE_CONFIG.Healthcheck;
  const [kind, ...command] = Test;
  const times = [["interval", Interval], ["timeout", Timeout], ["start-period", StartPeriod]]
    .map(([name, ns]) => `--${name}=${Number(ns) / 1e9}s`);
  const [check = ""] = stage.get("HEALTHCHECK") ?? [];
  const [flags, list = ""] = check.split(` ${kind} `);
  expect(flags).toBe([...times, `--retries=${Retries}`].join(" "));
  expect(JSON.parse(list)).toEqual(command);
});

test("the Dockerfile names the base of its build by digest", () => {
  const bases = [...readFileSync("Dockerfile", "utf8").matchAll(/^FROM (\S+)/gm)];
  const others = bases.map(([, base]) => base).filter((base) => base !== "scratch");
  expect(others).toHaveLength(1);
  for (const base of others) expect(base).toMatch(/@sha256:[0-9a-f]{64}$/);
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

test("the server in the image may start only the process for jq filters, and write only to its store and /tmp", () => {
  const flags = SERVER_COMMAND.filter((flag) => flag.startsWith("--allow"));
  expect(flags.map((flag) => flag.split("=")[0]).sort()).toEqual(
    ["--allow-env", "--allow-net", "--allow-read", "--allow-run", "--allow-sys", "--allow-write"],
  );
  expect(flags).toContain("--allow-run=/usr/local/bin/sluice-jq");
  expect(IMAGE_CONFIG.Env).toContain("SLUICE_JQ_COMMAND=/usr/local/bin/sluice-jq");
  expect(flags).toContain("--allow-write=/data,/tmp");
  expect(IMAGE_CONFIG.User).not.toMatch(/^0|root/);
});

test("the image bounds the heap as the start task does, below the chart's limit", () => {
  const bound = startFlags().filter((flag) => flag.includes("max-old-space-size"));
  expect(bound).toHaveLength(1);
  expect(SERVER_COMMAND).toContain(bound[0]);
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

test("the chart decides everything by itself that the image sets for a server alone", () => {
  const chart = readFileSync("helm/sluice/templates/deployment.yaml", "utf8");
  const ofTheImage = ["SLUICE_WORK_DIR", "SLUICE_JQ_COMMAND"];
  const own = IMAGE_CONFIG.Env.map((line) => line.split("=")[0] ?? "")
    .filter((name) => name.startsWith("SLUICE_") && !ofTheImage.includes(name));
  expect(own).toHaveLength(4);
  for (const name of own) expect(chart).toContain(`name: ${name}\n`);
});

test("the list of parts has each package once, with its checksum where the lock file has one", () => {
  const lock = JSON.stringify({
    npm: {
      "@scope/one@1.2.3_two@2.0.0": { integrity: "sha512-AAEC" },
      "two@2.0.0": {},
    },
  });
  expect(partsOfLock(lock)).toEqual([
    { type: "npm", name: "@scope/one", version: "1.2.3", integrity: "sha512-AAEC" },
    { type: "npm", name: "two", version: "2.0.0" },
  ]);
  const { version } = JSON.parse(readFileSync("node_modules/hono/package.json", "utf8"));
  const files = ["app.ts", "node_modules/hono/dist/a.js", "node_modules/hono/dist/b.js"]
    .map((file) => join(import.meta.dirname, "..", file));
  expect(partsOfFiles(files)).toEqual([{ type: "npm", name: "hono", version }]);

  const service = { name: "sluice", version: "9.9.9", license: "Apache-2.0" };
  const libc = { type: "deb", name: "libc6", version: "2+deb", arch: "arm64" } as const;
  const parts = [
    ...partsOfLock(lock),
    libc,
    { type: "npm", name: "two", version: "2.0.0" } as const,
  ];
  const { components } = createSbom("sluice:9.9.9", service, parts) as {
    components: { name: string; purl?: string; hashes?: unknown[] }[];
  };
  expect(components.map(({ name, purl }) => purl ?? name)).toEqual([
    "sluice",
    "pkg:deb/debian/libc6@2%2Bdeb?arch=arm64",
    "pkg:npm/%40scope/one@1.2.3",
    "pkg:npm/two@2.0.0",
  ]);
  expect(components[2]?.hashes).toEqual([{ alg: "SHA-512", content: "000102" }]);
});
