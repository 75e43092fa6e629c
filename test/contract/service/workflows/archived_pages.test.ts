/** Pages of lists of which the archive has a part: what they say about what comes after them. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openSqliteArchive } from "../../../../src/archive/sqlite/archive.ts";
import { type Instance, startInstance } from "../../../support/api_server.ts";

const SPEC = { entrypoint: "main", templates: [{ name: "main", suspend: {} }] };
const ENDED = 5;

let folder: string;
let instance: Instance;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-pages-"));
  instance = await startInstance({
    gatekeeper: { server: true, authenticators: [] },
    settings: { archive: true },
    archive: () => openSqliteArchive({ folder, indexedParameters: [], durability: "everysec" }),
  });
  const ended = Array.from({ length: ENDED }, (_, index) => ({
    kind: "Workflow",
    metadata: {
      name: `ended-${index}`,
      namespace: "n",
      uid: `uid-${index}`,
      creationTimestamp: `2023-05-04T10:00:0${index}Z`,
    },
    spec: SPEC,
    status: { phase: "Succeeded", finishedAt: "2023-05-04T10:05:00Z" },
  }));
  await instance.seed(ended);
  expect(await instance.service.history?.live.query.findByUid("uid-0")).toBeUndefined();
});
afterAll(async () => {
  await instance?.stop();
  await rm(folder, { recursive: true });
});

test.each(["/api/v1/workflows/n", "/api/v1/archived-workflows"])(
  "%s: a page says that nothing is left only if that is so",
  async (path) => {
    const names: string[] = [];
    const told: unknown[] = [];
    for (let token: string | undefined = "";;) {
      const query = new URLSearchParams({
        "listOptions.limit": "2",
        "listOptions.fieldSelector": "ext.showRemainingItemCount=true",
        "listOptions.continue": token,
      });
      const answer = await instance.fetch(new Request(`http://localhost${path}?${query}`));
      const { metadata, items } = await answer.json();
      names.push(...items.map((item: { metadata: { name: string } }) => item.metadata.name));
      told.push(metadata.remainingItemCount);
      token = metadata.continue;
      if (token === undefined) break;
    }
    expect(names).toEqual(Array.from({ length: ENDED }, (_, index) => `ended-${4 - index}`));
    expect(told).toEqual([undefined, undefined, 0]);
  },
);
