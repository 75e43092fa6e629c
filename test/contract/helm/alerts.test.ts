/** The chart's alerts and dashboard: they name metrics that exist, each alert fires when it should, and the runbook explains it. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, expect, test } from "vitest";
import { parse } from "yaml";
import { declaredMetrics } from "../../../tools/reference_pages.ts";
import { ALERT_CASES, type AlertCase } from "../../support/alert_cases.ts";
import { promtoolMissing } from "../../support/promtool.ts";

const RULES = "helm/sluice/files/rules.yaml";
const DASHBOARD = "helm/sluice/files/dashboard.json";
interface Alert {
  alert: string;
  expr: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

interface Panel {
  id: number;
  title: string;
  gridPos: { x: number; y: number };
  targets: { expr: string }[];
}

const { groups } = parse(readFileSync(RULES, "utf8")) as { groups: { rules: Alert[] }[] };
const alerts = groups.flatMap(({ rules }) => rules);
const names = alerts.map(({ alert }) => alert).sort();
const { panels } = JSON.parse(readFileSync(DASHBOARD, "utf8")) as { panels: Panel[] };
const runbook = readFileSync("docs/runbook.md", "utf8");
const missing = promtoolMissing();
const why = missing === undefined ? "" : `: ${missing}`;

const folder = mkdtempSync(join(tmpdir(), "sluice-alerts-"));
afterAll(() => rmSync(folder, { recursive: true }));

function promtool(...args: string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync("promtool", args, { encoding: "utf8" });
  return { status, output: stdout + stderr };
}

/** Names of metrics in a query, without the ends of a histogram's series. */
function metricsIn(query: string): string[] {
  return [...query.matchAll(/\bsluice_[a-z0-9_]+/g)].map(([name]) =>
    name.replace(/_(bucket|sum|count)$/, "")
  );
}

test("alerts and dashboard name metrics that the server declares", async () => {
  const known = new Set((await declaredMetrics()).map(({ name }) => name));
  const queries = [
    ...alerts.map(({ expr }) => expr),
    ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ];
  const named = queries.flatMap(metricsIn).filter((name) => name !== "sluice_process");
  expect(named.length).toBeGreaterThan(60);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
});

test("the dashboard shows how far the archive is behind, and alerts tell", () => {
  const shown = panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => metricsIn(expr)));
  const told = alerts.flatMap(({ expr }) => metricsIn(expr));
  for (const name of ["sluice_archive_backlog", "sluice_archive_oldest_seconds"]) {
    expect(shown).toContain(name);
    expect(told).toContain(name);
  }
});

test("the dashboard has every panel once, each at a place of its own", () => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
  expect(new Set(panels.map(({ gridPos: { x, y } }) => `${x} ${y}`)).size).toBe(panels.length);
});

test("the runbook has a paragraph for each alert, to which the alert links, and no other", () => {
  const paragraphs = new Map(
    runbook.split(/^## /m).slice(1).map((text) => [text.slice(0, text.indexOf("\n")), text]),
  );
  for (const { alert, annotations } of alerts) {
    expect(annotations["runbook_url"]).toBe(`docs/runbook.md#${alert.toLowerCase()}`);
    expect(annotations["summary"]).toMatch(/[^.]$/);
    const paragraph = paragraphs.get(alert) ?? "";
    for (const part of ["Means", "Users feel", "Look", "Do"]) {
      expect(paragraph, alert).toContain(`\n**${part}:** `);
    }
  }
  const headings = [...paragraphs.keys()].filter((name) => name.startsWith("Sluice"));
  expect(headings.sort()).toEqual(names);
});

test("the runbook links to its own paragraphs, and names metrics that there are", async () => {
  const anchors = [...runbook.matchAll(/^## (.+)$/gm)].map(([, name = ""]) =>
    name.toLowerCase().replaceAll(" ", "-")
  );
  const links = [...runbook.matchAll(/\]\(#([^)]+)\)/g)].map(([, name]) => name);
  expect(links.length).toBeGreaterThan(10);
  expect(links.filter((name) => !anchors.includes(name ?? ""))).toEqual([]);
  const known = new Set((await declaredMetrics()).map(({ name }) => name));
  expect(metricsIn(runbook).filter((name) => !known.has(name))).toEqual([]);
});

test("every alert has a case in which it fires, and one in which it does not", () => {
  expect(Object.keys(ALERT_CASES).sort()).toEqual(names);
});

test.skipIf(missing !== undefined)(`promtool takes the rules${why}`, () => {
  expect(promtool("check", "rules", RULES)).toMatchObject({
    status: 0,
    output: expect.stringContaining(`SUCCESS: ${alerts.length} rules found`),
  });
});

/** The same series of one deployment. */
function inDeployment(series: string): string {
  const [name, labels = ""] = series.replace("}", "").split("{");
  return `${name}{namespace="n",job="sluice"${labels === "" ? "" : `,${labels}`}}`;
}

/** What the alert shows when it fires. */
function shown({ labels, annotations }: Alert, { labels: own = {}, value = "" }: AlertCase) {
  const all = { namespace: "n", job: "sluice", ...labels, ...own } as Record<string, string>;
  const filled = Object.entries(annotations).map(([key, text]) => [
    key,
    text.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, name: string) => all[name] ?? "")
      .replaceAll("{{ $value }}", value),
  ]);
  return { exp_labels: all, exp_annotations: Object.fromEntries(filled) };
}

test.skipIf(missing !== undefined)(`each alert fires when it should and only then${why}`, () => {
  const tests = alerts.flatMap((alert) => {
    const one = ALERT_CASES[alert.alert];
    if (one === undefined) return [];
    return (["fires", "quiet"] as const).map((kind) => ({
      name: `${alert.alert} ${kind}`,
      interval: "1m",
      input_series: Object.entries(one[kind]).map(([series, values]) => ({
        series: inDeployment(series),
        values: values.replaceAll("x60", "x90"),
      })),
      alert_rule_test: [{
        eval_time: `${one.at ?? 30}m`,
        alertname: alert.alert,
        exp_alerts: kind === "fires" ? [shown(alert, one)] : [],
      }],
    }));
  });
  expect(tests.length).toBe(2 * alerts.length);
  // JSON is YAML.
  const file = join(folder, "rules.test.yaml");
  writeFileSync(
    file,
    JSON.stringify({ rule_files: [resolve(RULES)], evaluation_interval: "2m", tests }),
  );
  const { status, output } = promtool("test", "rules", file);
  expect(output).toContain("SUCCESS");
  expect(status).toBe(0);
});
