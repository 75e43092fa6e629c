import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createArtifactStore } from "./artifact_store.ts";

test("URLs and git repositories of one namespace that never answer leave another one its transfers", async () => {
  const sockets = new Set<Socket>();
  const silent = createServer((socket) => {
    sockets.add(socket.on("error", () => {}));
  });
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/x`;
  const folder = mkdtempSync(join(tmpdir(), "sluice-fair-"));
  const store = createArtifactStore({
    config: {
      configMap: () => Promise.resolve(undefined),
      secret: () => Promise.resolve(undefined),
    },
  });
  try {
    const hung: Promise<unknown>[] = [];
    for (let index = 0; index < 100; index++) {
      const artifact = index < 3
        ? { name: "g", git: { repo: `${url}.git` } }
        : { name: "h", http: { url } };
      hung.push(
        store.fetch(artifact, join(folder, `a${index}`), { namespace: "a" }).catch(() => {}),
      );
    }
    await expect.poll(() => sockets.size, { timeout: 20_000 }).toBe(48);
    const raw = { name: "r", raw: { data: "there" } };
    expect(await store.fetch(raw, join(folder, "b"), { namespace: "b" })).toBe(true);
    expect(readFileSync(join(folder, "b"), "utf8")).toBe("there");
    silent.close();
    const cut = setInterval(() => {
      for (const socket of sockets) socket.destroy();
    }, 20);
    await Promise.all(hung);
    clearInterval(cut);
  } finally {
    for (const socket of sockets) socket.destroy();
    silent.close();
    rmSync(folder, { recursive: true });
  }
});
