import { archivePlace } from "./archive_place.ts";
import { expect, test } from "vitest";
import { CONFIG_TABLE, ConfigError, describeConfig, parseConfig } from "./config.ts";

function problemsOf(args: string[], env: Record<string, string> = {}): readonly string[] {
  try {
    parseConfig(args, env);
  } catch (cause) {
    if (cause instanceof ConfigError) return cause.problems;
    throw cause;
  }
  return [];
}

test("parseConfig() gives the defaults when nothing is said", () => {
  const config = parseConfig([], {});
  expect(config.port).toBe(2746);
  expect(config.store).toBe("sqlite:.sluice");
  expect(config.authMode).toEqual(["server"]);
  expect(Object.isFrozen(config)).toBe(true);
});

test("parseConfig() takes flags over variables, in both spellings", () => {
  const env = { SLUICE_PORT: "1", SLUICE_LEASE_TTL: "5s", SLUICE_ALLOW_REMOTE_PROCESS: "1" };
  const config = parseConfig(["--port=3", "--executor", "none"], env);
  expect(config).toMatchObject({
    port: 3,
    executor: "none",
    leaseTtl: 5000,
    allowRemoteProcess: true,
  });
});

test("parseConfig() passes over what Kubernetes sets beside a Service named sluice", () => {
  expect(parseConfig([], { SLUICE_PORT: "tcp://10.96.0.7:2746" }).port).toBe(2746);
  expect(parseConfig([], { SLUICE_PORT: "tcp://[fd00::7]:80" }).port).toBe(2746);
  expect(problemsOf([], { SLUICE_PORT: "tcp://sluice" })).toHaveLength(1);
});

test("parseConfig() collects a repeated list flag", () => {
  const files = [
    "--token-file",
    "t",
    "--access-file",
    "a",
    "--sso-issuer",
    "https://i",
    "--sso-audience",
    "s",
  ];
  expect(parseConfig(["--auth-mode", "client", "--auth-mode=sso", ...files], {}).authMode).toEqual([
    "client",
    "sso",
  ]);
});

test("parseConfig() reports all problems at once, each with its source", () => {
  expect(problemsOf(["--port", "x", "--nope", "y", "--store=mysql:x"], { SLUICE_LEASE_TTL: "3" }))
    .toEqual([
      'SLUICE_LEASE_TTL is "3", expected a duration from 300ms to 10m, like 3s or 500ms',
      'Unknown flag "--nope"; --help lists all',
      '--port is "x", expected 0 to 65535',
      '--store is "mysql:x", expected sqlite:FOLDER, redis://… or memory:',
    ]);
});

test.each([
  [["--prot", "80"], 'Unknown flag "--prot": did you mean --port? --help lists all'],
  [["extra"], /^Unexpected argument "extra": there are only flags/],
  [["--archive", "false"], /^Unexpected argument "false": .*--archive=false$/],
])("parseConfig() says what was probably meant by %j", (args, problem) => {
  expect(problemsOf(args)).toEqual([
    typeof problem === "string" ? problem : expect.stringMatching(problem),
  ]);
});

test("parseConfig() refuses to open commands or an unguarded API to the network", () => {
  expect(problemsOf(["--host", "0.0.0.0"])).toHaveLength(2);
  const files = ["--token-file", "t", "--access-file", "a"];
  expect(
    problemsOf(["--host", "0.0.0.0", "--allow-remote-process", "--auth-mode", "client", ...files]),
  )
    .toEqual([]);
  for (const host of ["127.0.0.5", "localhost", "::1", "[::1]"]) {
    expect(problemsOf(["--host", host])).toEqual([]);
  }
});

test("parseConfig() refuses to open containers of this machine to the network", () => {
  const open = ["--host", "0.0.0.0", "--allow-remote-without-auth", "--executor", "container"];
  expect(problemsOf(open)).toEqual([expect.stringContaining("or say --allow-remote-process")]);
  expect(problemsOf([...open, "--allow-remote-process"])).toEqual([]);
  expect(problemsOf(["--executor", "container"])).toEqual([]);
});

test.each([
  ["", true],
  ["privileged", true],
  ["hostPath=/data,hostPath=/a b,capability=NET_ADMIN,hostNetwork,hostPID,hostIPC,subPath", true],
  ["hostPath", false],
  ["hostPath=data", false],
  ["privileged,", false],
  ["everything", false],
  ["capability=", false],
])("parseConfig() takes only known things of the machine for containers: %j", (text, isRight) => {
  expect(problemsOf([], { SLUICE_CONTAINER_ALLOW: text }).length === 0).toBe(isRight);
});

test("parseConfig() wants what an authentication mode needs", () => {
  const missing =
    "--auth-mode client needs --token-file; make a token with: sluice token create --file FILE";
  expect(problemsOf(["--auth-mode", "client", "--store=redis://x"])).toEqual([missing]);
  expect(problemsOf(["--auth-mode", "client", "--store=memory:"])).toEqual([missing]);
  expect(problemsOf(["--auth-mode", "client", "--access-file", "a"])).toEqual([missing]);
  // An embedded store keeps its own.
  expect(problemsOf(["--auth-mode", "client"])).toEqual([]);
  expect(problemsOf(["--auth-mode", "client", "--token-file", "t"])).toHaveLength(1);
  expect(problemsOf(["--auth-mode", "client", "--executor", "kubernetes"])).toEqual([]);
  expect(problemsOf(["--auth-mode", "sso", "--access-file", "a"])).toHaveLength(1);
  const sso = ["--auth-mode=sso", "--access-file=a", "--sso-issuer=https://i", "--sso-audience=a"];
  expect(problemsOf([...sso, "--sso-issuer=id.example"])).toEqual([
    expect.stringContaining('--sso-issuer is "id.example", expected the address'),
  ]);
  expect(problemsOf([...sso, "--sso-issuer=id.example", "--sso-jwks-url=https://i/keys"])).toEqual(
    [],
  );
  expect(problemsOf([...sso, "--sso-jwks-url=keys"])).toHaveLength(1);
  expect(problemsOf([...sso, "--sso-jwks-url=https://[i/keys"])).toEqual([
    expect.stringContaining('--sso-jwks-url is "https://[i/keys", expected the address'),
  ]);
  const login = ["--sso-client-id=a", "--sso-redirect-url=https://[s/oauth2/callback"];
  expect(problemsOf([...sso, ...login])).toEqual([
    expect.stringContaining(
      '--sso-redirect-url is "https://[s/oauth2/callback", expected an address',
    ),
  ]);
  const url = "--sso-redirect-url=https://sluice.example.com/below/oauth2/callback";
  expect(problemsOf([...sso, "--sso-client-id=pages", url])).toEqual([]);
  expect(problemsOf([...sso, "--sso-client-id=pages"])).toHaveLength(1);
  expect(problemsOf([...sso, "--sso-client-id=pages", "--sso-redirect-url=https://x/"]))
    .toHaveLength(1);
  expect(problemsOf(["--sso-client-id=pages", url])).toEqual([
    "--sso-client-id and --sso-redirect-url need --auth-mode sso",
  ]);
});

test("parseConfig() takes a number of processes, or auto, with a store that they can share", () => {
  const shared = ["--store", "redis://127.0.0.1"];
  expect(parseConfig([], {}).processes).toBe("1");
  expect(parseConfig(["--processes=2", ...shared], {}).processes).toBe("2");
  expect(parseConfig(shared, { SLUICE_PROCESSES: "auto" }).processes).toBe("auto");
  for (const wrong of ["0", "-1", "two", "1.5", "1000"]) {
    expect(problemsOf([`--processes=${wrong}`, ...shared])).toEqual([
      `--processes is "${wrong}", expected 1 to 999, or auto`,
    ]);
  }
});

test.each(["sqlite:here", "memory:"])("parseConfig() refuses several processes on %s", (store) => {
  expect(problemsOf(["--processes=2", `--store=${store}`])).toEqual([
    `--processes 2 needs a store that processes share, and --store ${store} belongs to one; ` +
    "say --store redis://…, or --processes 1",
  ]);
  expect(problemsOf(["--processes=auto", `--store=${store}`])).toHaveLength(1);
  expect(problemsOf(["--processes=1", `--store=${store}`])).toEqual([]);
});

test("parseConfig() refuses to wait for replicas where there are none", () => {
  expect(problemsOf(["--redis-wait=1"])).toEqual([
    "--redis-wait is for --store redis://…: sqlite has no replicas that could confirm a write",
  ]);
  expect(problemsOf(["--redis-wait=1", "--store=rediss://x"])).toEqual([]);
  expect(problemsOf(["--redis-wait=0"])).toEqual([]);
});

test("parseConfig() wants a port that several processes know", () => {
  expect(problemsOf(["--processes=2", "--store=redis://x", "--port=0"])).toEqual([
    "--processes 2 needs a port that all of them know; say another --port than 0",
  ]);
});

test("parseConfig() refuses what cannot be the name of a namespace", () => {
  expect(problemsOf(["--namespace", "team-a, team-b"])).toEqual([]);
  expect(problemsOf(["--namespace", "Team A"])).toEqual([
    '--namespace is "Team A", expected names of namespaces with commas between them',
  ]);
});

test("parseConfig() shows no password of a wrong address", () => {
  expect(problemsOf(["--store=rediss//x://user:pw@host"])).toEqual([
    '--store is "rediss//x://user:***@host", expected sqlite:FOLDER, redis://… or memory:',
  ]);
});

test("describeConfig() names every setting with its variable, and a default only if there is one", () => {
  const text = describeConfig();
  expect(text).not.toMatch(/Default ;|0ms/);
  for (const row of Object.values(CONFIG_TABLE)) expect(text).toContain(`SLUICE_${row.env}`);
});

test.each<[flags: string[], place: string]>([
  [[], "sqlite:.sluice"],
  [["--store=sqlite:data"], "sqlite:data"],
  [["--store=sqlite:data", "--archive-store=store"], "store"],
  [["--store=sqlite:data", "--archive-store=sqlite:other"], "sqlite:other"],
  [["--store=sqlite:data", "--archive=false"], "store"],
  [["--store=memory:"], "store"],
  [["--store=redis://x"], "store"],
  [["--store=redis://x", "--processes=2"], "store"],
  [["--archive-store=postgres://x/y"], "postgres://x/y"],
])("with %j, finished workflows go to %s", (flags, place) => {
  expect(archivePlace(parseConfig(flags, {}))).toBe(place);
});

test("parseConfig() refuses an archive beside the store that nobody could look into", () => {
  expect(problemsOf(["--archive=false", "--archive-store=sqlite:other"])).toEqual([
    "--archive-store needs --archive: finished workflows are found through it",
  ]);
});

test.each<[flags: string[], problem: string]>([
  [["--port"], "Flag --port needs a value"],
  [["--archive=yes"], '--archive is "yes", expected true or false'],
  [["--webhook-allow=10.0.0.0/33"], '--webhook-allow: "10.0.0.0/33" is not an address'],
  [
    ["--manifests=here", "--manifest-source=kubernetes"],
    "--manifests is for --manifest-source store; with kubernetes: kubectl apply -f here",
  ],
  [["--callback-key-rotation=23h"], "--callback-key-rotation is 23h, expected 1d or more"],
  [
    ["--callback-key-rotation=1d", "--callback-keys=keys"],
    "--callback-key-rotation is for the keys in the store",
  ],
  [
    ["--processes=2", "--store=redis://x", "--archive-store=sqlite:other"],
    "--processes 2 needs an archive that processes share",
  ],
])("parseConfig() refuses %j", (flags, problem) => {
  expect(problemsOf(flags)).toEqual([expect.stringContaining(problem)]);
});

test("parseConfig() takes switches as words and as numbers, and a rotation of a day", () => {
  const config = parseConfig(["--archive=0", "--callback-key-rotation=1d"], {});
  expect(config).toMatchObject({ archive: false, callbackKeyRotation: 86_400_000 });
  expect(parseConfig(["--archive=false"], {}).archive).toBe(false);
  expect(parseConfig(["--allow-remote-process=1"], {}).allowRemoteProcess).toBe(true);
});

test("parseConfig() shows no password of an address that it refuses", () => {
  const archive = "postgres://argo:top/secret@db/argo";
  expect(problemsOf([`--archive-store=${archive}`])).toEqual([
    expect.stringMatching(
      /^--archive-store: postgres:.*\*\*\*@db\/argo is not the address .* \/ as %2F/,
    ),
  ]);
  // `--archive` is a switch.
  expect(problemsOf(["--archive", archive]).join()).not.toContain("secret");
});
