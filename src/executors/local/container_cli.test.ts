import { chmod, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "../../platform/clock.ts";
import { ContainerCli } from "./container_cli.ts";

let dir: string;
let cli: ContainerCli;

/** A program that knows one container, `c`, and says of it what the file `says` has. */
const PROGRAM = `#!/bin/sh
[ "$1 $2" = "container inspect" ] || exit 0
. "$(dirname "$0")/says"
`;
const RUNNING = `echo '[{"Name":"/c","State":{"Status":"running"}}]'`;
const GONE = `echo "[]"; echo "Error: No such container: c" >&2; exit 1`;
const AWAY = `echo "[]"; echo "Cannot connect to the Docker daemon at unix:///x." >&2; exit 1`;
const NO_SOCKET = `echo "dial unix /x: connect: no such file or directory" >&2; exit 1`;
const HANGS = `exec sleep 1000`;
const SILENT = `echo "permission denied" >&2; exit 125`;

const says = (script: string) => writeFile(join(dir, "says"), script);

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "sluice-cli-"));
  await writeFile(join(dir, "docker"), PROGRAM);
  await chmod(join(dir, "docker"), 0o755);
  cli = new ContainerCli([join(dir, "docker")], "a=b", systemClock);
});
afterEach(async () => {
  cli.close();
  await rm(dir, { recursive: true, force: true, maxRetries: 5 });
});

test("tells what runs from what is gone, and says when it can't", async () => {
  await says(RUNNING);
  expect(await cli.inspect(["c"])).toMatchObject([{ name: "c", status: "running" }]);
  await says(GONE);
  expect(await cli.inspect(["c"])).toEqual([]);
  await says(AWAY);
  await expect(cli.inspect(["c"])).rejects.toThrow("Cannot connect");
  await says(NO_SOCKET);
  await expect(cli.inspect(["c"])).rejects.toThrow("no such file");
  await says(SILENT);
  await expect(cli.inspect(["c"])).rejects.toThrow("permission denied");
});

test("what exists is removed beside what does not, and a network's owner after those who use it", async () => {
  // As podman does it: a call removes nothing if a name is unknown, and a dependency stays.
  const program = `#!/bin/sh
cd "$(dirname "$0")" || exit 1
shift 3
for name; do [ -e "$name" ] || exit 0; done
for name; do [ "$name" = owner ] && [ -e user ] && exit 125; done
rm "$@"
`;
  await writeFile(join(dir, "docker"), program);
  for (const name of ["owner", "user"]) await writeFile(join(dir, name), "");
  await cli.remove(["owner", "unknown", "user"]);
  expect(await readdir(dir)).toEqual(["docker"]);
});

test("a container has not ended because nobody can tell how it is", async () => {
  await says(AWAY);
  let end: unknown = "runs";
  const ended = cli.ended("c").then((facts) => end = facts);
  await systemClock.sleep(300);
  expect(end).toBe("runs");
  await says(GONE);
  await ended;
  expect(end).toBeUndefined();
});

test("a call that hangs is killed and has failed; the end of the container is seen later", async () => {
  const hurried = {
    ...systemClock,
    after: (ms: number, run: () => void) => systemClock.after(ms / 400, run),
  };
  const own = new ContainerCli([join(dir, "docker")], "a=b", hurried);
  await says(HANGS);
  await expect(own.inspect(["c"])).rejects.toThrow("docker container did not end within 120 s");
  const read = async (output: AsyncIterable<Uint8Array>) => {
    for await (const _ of output);
  };
  await expect(own.pipe(["container", "inspect"], read)).rejects.toThrow("gave nothing for 120 s");
  const ended = own.ended("c");
  await systemClock.sleep(100);
  await says(GONE);
  expect(await ended).toBeUndefined();
  own.close();
});
