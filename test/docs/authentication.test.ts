/** docs/authentication.md: the server's own parsers read its files, which grant what the page says. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { allows, parseAccessRules } from "../../src/auth/access_rules.ts";
import type { Access, Identity } from "../../src/auth/port.ts";
import { parseTokenFile } from "../../src/auth/token_file.ts";
import { parseConfig } from "../../src/platform/config.ts";
import { ownAccess } from "../../src/platform/own_access.ts";

const PAGE = readFileSync(join(import.meta.dirname, "../../docs/authentication.md"), "utf8");

/** A code block with this info string. */
function block(info: string, index = 0): string {
  const text = PAGE.split(`\`\`\`${info}\n`)[index + 1] ?? "";
  expect(text).not.toBe("");
  return text.slice(0, text.indexOf("```"));
}

test("the token file is one", () => {
  expect(parseTokenFile(block("yaml tokens.yaml"))).toMatchObject([
    { subject: "ci", groups: ["builders"], expiresAt: Date.UTC(2027, 0, 31) },
  ]);
});

test("the server takes the flags", () => {
  const files = [0, 2].map((index) => {
    const lines = block("sh", index).split("\n");
    const [line = ""] = lines.filter((text) => text.startsWith("sluice server "));
    const config = parseConfig(line.trim().split(/\s+/).slice(2), {});
    expect(config.authMode).toEqual(["client"]);
    return [config.tokenFile, ownAccess(config)?.tokenFile];
  });
  expect(files).toEqual([["", join(".sluice", "tokens.yaml")], ["tokens.yaml", undefined]]);
});

test("the server takes the flags of a login through a provider", () => {
  const words = block("sh", 3).replaceAll("\\\n", " ").trim().split(/\s+/);
  const config = parseConfig(words.slice(words.indexOf("server") + 1), {});
  expect([config.authMode, config.ssoClientId]).toEqual([["sso"], "sluice-pages"]);
});

describe("the rules", () => {
  const ci: Identity = { subject: "ci", groups: ["builders"] };
  const operator: Identity = { subject: "eve", groups: ["operators"] };
  const workflows = { verb: "create", resource: "workflows" } as const;
  const template = { resource: "workflowtemplates", namespace: "release" };
  test.each<[string, Identity, Access, boolean]>([
    ["a group's namespace", ci, { ...workflows, namespace: "build" }, true],
    ["another namespace", ci, { ...workflows, namespace: "release" }, false],
    ["all namespaces", ci, { ...workflows, verb: "list", namespace: "" }, false],
    ["a name of a rule", ci, { ...template, verb: "get", name: "publish" }, true],
    ["another name", ci, { ...template, verb: "get", name: "other" }, false],
    ["a list, by a rule with names", ci, { ...template, verb: "list" }, false],
    ["somebody else", { subject: "eve" }, { ...workflows, namespace: "build" }, false],
    [
      "another group",
      ci,
      { verb: "get", group: "", resource: "secrets", namespace: "build" },
      false,
    ],
    ["stars, all namespaces", operator, { ...workflows, verb: "list", namespace: "" }, true],
    [
      "stars, kinds of the cluster",
      operator,
      { verb: "delete", resource: "clusterworkflowtemplates", namespace: "" },
      true,
    ],
  ])("%s", (_name, identity, access, isGranted) => {
    expect(allows(parseAccessRules(block("yaml access.yaml")), identity, access)).toBe(isGranted);
  });
});
