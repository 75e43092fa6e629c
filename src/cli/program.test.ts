import process from "node:process";
import type { Command } from "commander";
import { expect, test, vi } from "vitest";
import { VERSION } from "../base/version.ts";
import { ClientError } from "../client/transport.ts";
import { adviceOn, plainFlags } from "./seldom_needed.ts";
import { buildProgram, MODULES, run } from "./program.ts";

function words({ commands }: Command): string[] {
  return commands.flatMap((one) => [one.name(), ...one.aliases()]);
}

test("every module registers the commands that the table says, and all have different names", async () => {
  const said = MODULES.flatMap(([text]) => text.split(" "));
  expect(new Set(said).size).toBe(said.length);
  expect(words(await buildProgram(() => {}))).toEqual(said);
  for (const [text] of MODULES) {
    const [word = ""] = text.split(" ");
    if (text.includes("completion")) continue;
    expect(words(await buildProgram(() => {}, word))).toEqual(text.split(" "));
  }
});

test("help, completion and unknown words are about all commands", async () => {
  const all = words(await buildProgram(() => {}));
  for (const word of ["help", "completion", "__complete", "lsit", undefined]) {
    expect(words(await buildProgram(() => {}, word))).toEqual(all);
  }
});

test("help lists the commands by topic, and that of a command names the options of all commands", async () => {
  const program = await buildProgram(() => {});
  const help = program.helpInformation();
  expect(help.match(/^\S.*:$/gm)).toEqual([
    "Options:",
    "Workflows:",
    "Events, callbacks and webhooks:",
    "Stored manifests:",
    "Writing manifests:",
    "Running a server:",
    "This program:",
  ]);
  const own = help.slice(help.indexOf("This program:")).match(/^ {2}[a-z]+/gm);
  expect(own).toEqual(["  version", "  auth", "  completion", "  help"]);
  const shown: string[] = [];
  const list = program.commands.find((one) => one.name() === "list");
  list?.configureOutput({ writeOut: (text) => shown.push(text) }).outputHelp();
  expect(shown.join("")).toContain("Every command also takes -n, -s, --token");
});

test("--version is answered without a server", async () => {
  const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  try {
    expect(await run(["--version"])).toBe(0);
    expect(write.mock.calls.map(([text]) => text)).toEqual([`${VERSION}\n`]);
  } finally {
    write.mockRestore();
  }
});

test.each<[given: string[], usage: string]>([
  [["help"], "sluice [options] [command]"],
  [["help", "ls"], "sluice list|ls [options]"],
  [["help", "event", "send"], "sluice event send [options]"],
  [["event", "help", "send"], "sluice event send [options]"],
  // What follows is a name, not a command.
  [["help", "get", "help"], "sluice get [options]"],
])("%j shows the help of its command", async (given, usage) => {
  const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  try {
    expect(await run(given)).toBe(0);
    expect(String(write.mock.calls[0]?.[0])).toContain(`Usage: ${usage}`);
  } finally {
    write.mockRestore();
  }
});

test("help does not show the token of the environment, which commands use", async () => {
  vi.stubEnv("SLUICE_TOKEN", "shh");
  try {
    const program = await buildProgram(() => {});
    expect(program.opts()).toMatchObject({ token: "shh" });
    expect(program.helpInformation()).not.toContain("shh");
  } finally {
    vi.unstubAllEnvs();
  }
});

test.each<[given: string[], read: string[]]>([
  [["get", "x", "--no-color=true"], ["get", "x", "--no-color"]],
  [["get", "x", "--no-color=false"], ["get", "x"]],
  [["-e", "--secure=true", "list"], ["-e", "--secure", "list"]],
  [["get", "x", "-o=json", "-n=a=b"], ["get", "x", "-o", "json", "-n", "a=b"]],
  [["list", "-A=true", "-e=false"], ["list", "-A"]],
  [["list", "-x=1", "-A=1"], ["list", "-x=1", "-A=1"]],
  // These take a value, or are none.
  [["list", "--server=true"], ["list", "--server=true"]],
  [["list", "--bogus=true"], ["list", "--bogus=true"]],
])("plainFlags() reads %j as %j", async (given, read) => {
  expect(plainFlags(await buildProgram(() => {}), given)).toEqual(read);
});

test("a setting of nothing is wrong use, and asks no server", async () => {
  const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  try {
    expect(await run(["node", "set", "one", "--node-field-selector", "displayName=approve"])).toBe(
      2,
    );
    const words = write.mock.calls.map(([text]) => String(text)).join("");
    expect(words).toContain("nothing to set: give --output-parameter, --phase or --message");
  } finally {
    write.mockRestore();
  }
});

test.each<[given: string[], said: string]>([
  [["-k", "list"], "Certificates are always checked."],
  [["list", "--context=prod"], "This is for a client of a cluster."],
  [["submit", "x.yaml", "--instanceid", "a"], "There are no instance ids"],
  [["list", "--argo-root-path", "/a"], "--argo-base-href names the path"],
  [["token", "create", "--subject", "a", "--expires", "1e12"], "--expires is beyond all dates"],
  [["convert", "docs/images"], "docs/images: no file .yaml, .yml or .json"],
  [["get", "default/one"], 'A name has no slash, received "default/one"'],
  [["get", "one", "two:"], 'A name has no colon, received "two:"'],
  [["list", "-n", "a/b"], 'A namespace has no slash, received "a/b"'],
  [["list", "--running", "--completed"], "cannot be used with"],
  [["get", "one", "--node-field-selector", "fase=Failed"], "no node has a field 'fase'"],
  [["submit", "x.yaml", "--watch", "--node-field-selector", "a=b"], "no node has a field 'a'"],
  [["delete"], "choose some with --selector, --completed, --older or another filter; --all means"],
  [["stop", "one", "--node-field-selector", ""], "--node-field-selector is empty"],
  [["resume", "one", "--node-field-selector="], "--node-field-selector is empty"],
  [["event", "send", "push", "--data", "@file"], "(--file names a file)"],
  [["submit", "examples/event-binding.yaml"], 'holds a WorkflowTemplate; use "sluice apply -f"'],
  [["event", "send", "push/main", "--data", "{}"], 'no slash, received "push/main"'],
  [["help", "submt"], "unknown command 'submt'\n(Did you mean submit?)"],
  [["submt", "--help"], "unknown command 'submt'\n(Did you mean submit?)"],
  [["-n", "help", "submt", "-h"], "unknown command 'submt'"],
  [["help", "event", "sent"], "unknown command 'sent'\n(Did you mean send?)"],
  [["event", "help", "sent"], "unknown command 'sent'"],
])("%j is wrong use, and asks no server", async (given, said) => {
  const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  try {
    expect(await run(given)).toBe(2);
    expect(write.mock.calls.map(([text]) => String(text)).join("")).toContain(said);
  } finally {
    write.mockRestore();
  }
});

test("an error shows nothing that a terminal would obey", async () => {
  const write = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  try {
    expect(await run(["submit", "no\u001b[31mfile"])).toBe(1);
    expect(write.mock.calls.map(([text]) => String(text)).join("")).toBe(
      "Error: Cannot read no\\u001b[31mfile: there is no such file\n",
    );
  } finally {
    write.mockRestore();
  }
});

test("an expression may ask for the time and for chance", async () => {
  const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  try {
    const source = "now().Year() > 2000 && len(sprig.randAlpha(3)) == 3";
    expect(await run(["expr", source])).toBe(0);
    expect(write.mock.calls.map(([text]) => String(text)).join("")).toBe("true\n");
  } finally {
    write.mockRestore();
  }
});

test.each([
  [
    "Resource kind 'template' is not supported for submitting",
    400,
    "--from takes workflowtemplate/",
  ],
  ["Not Implemented", 501, "the address has no /api/v1"],
])("of the refusal %j the command line says what to do", (message, status, advice) => {
  expect(adviceOn(new ClientError(message, status))).toContain(advice);
});
