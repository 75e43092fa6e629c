/** The retry of a workflow with very many nodes, on real servers: the event loop goes on meanwhile. */
import { expect, test } from "vitest";
import { longestBlock, WITH_LOOP_PROBE } from "../../support/loop_blocks.ts";
import { type ServerProcess, startServer } from "../../support/server_process.ts";
import { BACKENDS, fill, PATIENCE_MS } from "./large_setting.ts";

/** Nodes of the workflow that is retried: many, and small. */
const RETRIED_NODES = 12_000;
/** Longest time that the event loop may be blocked, in processor time of its thread, ms. */
const MAX_BLOCK_MS = 250;

test.each(Object.entries(BACKENDS))(
  "a retry of many nodes holds nobody up, and removes all that failed: on %s",
  async (_name, open) => {
    const backend = await open();
    let server: ServerProcess | undefined;
    try {
      const many = { namespace: "retried", name: "many", nodes: RETRIED_NODES, padding: 0 };
      await fill(await backend.open(), [many]);
      server = await startServer([`--store=${backend.flag}`, "--executor=none"], WITH_LOOP_PROBE);
      const url = `${server.url}/api/v1/workflows/retried/many`;
      const idsOf = async () => {
        const { status } = await (await fetch(`${url}?fields=status.nodes`)).json();
        return Object.keys(status.nodes ?? {}).sort();
      };
      expect(await idsOf()).toHaveLength(RETRIED_NODES + 2);
      await longestBlock(server);
      const response = await fetch(`${url}/retry`, { method: "PUT", body: "{}" });
      expect(response.status).toBe(200);
      const { status } = await response.json();
      expect(status).toMatchObject({ startedAt: expect.any(String), finishedAt: null });
      // Only a read shows so many nodes.
      expect(status.nodes).toBeUndefined();
      // It is suspended: no new step starts.
      await expect.poll(idsOf, { timeout: PATIENCE_MS / 2 }).toEqual(["many", "many-group"]);
      const phase = async () => (await (await fetch(url)).json()).status.phase;
      await expect.poll(phase, { timeout: PATIENCE_MS / 2 }).toBe("Running");
      expect((await longestBlock(server)).cpuMs).toBeLessThan(MAX_BLOCK_MS);
    } finally {
      await server?.stop();
      await backend.stop();
    }
  },
  PATIENCE_MS,
);
