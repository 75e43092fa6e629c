/** Container logs when the container program is too early or too late, as on a busy machine: no line is lost. */
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { createContainerExecutor } from "../../../../src/executors/local/container.ts";
import { Scratch } from "../../../../src/executors/local/scratch.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import { openContainerBox } from "../../../support/container_box.ts";
import { collectReports, shellTask } from "../../../support/task_spec.ts";

const box = await openContainerBox();
const dir = await mkdtemp(join(tmpdir(), "sluice-container-logs-"));
afterAll(async () => {
  if ("remove" in box) await box.remove();
  await rm(dir, { recursive: true, force: true, maxRetries: 5 });
});

/**
 * Podman with worse timing: a followed log stops early, the end of a container is seen late, and the final log is read
 * so late that it is gone unless the executor waits.
 */
const PROGRAM = `#!/bin/sh
case "$*" in
*--follow*) exec podman logs --timestamps "$4" ;;
"container inspect"*) sleep 0.5 ;;
"logs --timestamps"*) [ -e "$0.late" ] && sleep 1; touch "$0.late" ;;
esac
exec podman "$@"
`;

const missing = "missing" in box ? box.missing : undefined;
test.skipIf(missing !== undefined)(
  `a cancelled task's last line is told and kept${missing ? ` (skipped: ${missing})` : ""}`,
  async () => {
    const program = join(dir, "podman");
    await writeFile(program, PROGRAM, { mode: 0o755 });
    const state = join(dir, "state");
    const executor = await createContainerExecutor({
      dir: state,
      clock: systemClock,
      config: {
        configMap: () => Promise.resolve(undefined),
        secret: () => Promise.resolve(undefined),
      },
      command: [program],
      network: "none",
    });
    try {
      const task = shellTask("hasty", "trap 'echo bye; exit 0' TERM; echo up; sleep 300 & wait");
      const lines = async (follow: boolean) => {
        const texts: string[] = [];
        const query = { container: "main", follow, signal: new AbortController().signal };
        for await (const { text } of executor.logs(task, query)) texts.push(text);
        return texts;
      };
      await executor.start(task, collectReports().report);
      await expect.poll(() => lines(false), { timeout: 20_000 }).toEqual(["up"]);
      const followed = lines(true);
      await executor.cancel(task.id, 10_000);
      expect(await followed).toEqual(["up", "bye"]);
      // Appended after the log by whoever waited for the container's end.
      const end = join(new Scratch(state).task(task.id).container("main"), "end");
      await expect.poll(() => existsSync(end), { timeout: 20_000 }).toBe(true);
      expect(await lines(false)).toEqual(["up", "bye"]);
    } finally {
      await executor.close();
    }
  },
);
