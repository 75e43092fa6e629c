import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openSqliteStore } from "./store.ts";

test("changes of many namespaces are remembered within a bound, and none of them is denied", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-manifests-"));
  const store = await openSqliteStore({ folder });
  const { manifests } = store;
  const kind = "WorkflowEventBinding";
  const put = (namespace: string) =>
    manifests.put({ kind, namespace, name: "x", text: "{}", labels: {} }, undefined);
  const hasChanged = (namespace: string, since: string) =>
    manifests.haveChanged?.(kind, namespace, since);
  try {
    await put("first");
    const { version: start } = await manifests.list(kind, { namespace: "calm", limit: 0 });
    expect(await hasChanged("calm", start)).toBe(false);
    await Promise.all(Array.from({ length: 1_100 }, (_, index) => put(`n${index}`)));
    expect(await hasChanged("n0", start)).toBe(true);
    expect(await hasChanged("n1099", start)).toBe(true);
    // It was not changed, but that is not known any more.
    expect(await hasChanged("calm", start)).toBe(true);
    const { version: now } = await manifests.list(kind, { namespace: "calm", limit: 0 });
    for (const namespace of ["calm", "n0", "n1099"]) {
      expect(await hasChanged(namespace, now)).toBe(false);
    }
  } finally {
    await store.close();
    rmSync(folder, { recursive: true });
  }
});
