/** What can be done with a workflow of the archive that cannot be read. */
import { expect, test } from "vitest";
import { MemoryArchive } from "../../../test/support/memory_archive.ts";
import { archivedState, deleteFromArchive } from "./archived_source.ts";

test("a workflow of the archive that cannot be read is deleted", async () => {
  const archive = new MemoryArchive();
  const place = { namespace: "n", name: "a", uid: "u" };
  const entry = { ...place, phase: "Failed", labels: {}, createdAt: 0, finishedAt: 0, edition: 0 };
  await archive.put([{ ...entry, object: "null" }]);
  const deps = {
    workflows: { find: () => Promise.resolve({ id: "wf/n/a", version: "1", parts: {} }) },
    history: { archive },
    host: { execute: () => Promise.reject(new Error("nobody is to be told")) },
  } as unknown as Parameters<typeof deleteFromArchive>[0];
  await expect(archivedState(deps, "n", "a", "u")).rejects.toThrow("it can only be deleted");
  await deleteFromArchive(deps, place, { sparesReturned: true });
  expect(archive.rows.size).toBe(0);
});
