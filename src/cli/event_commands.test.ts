import process from "node:process";
import { expect, test, vi } from "vitest";
import { run } from "./program.ts";

test("event list goes on to the next page until it has as many as it was asked for", async () => {
  const asked: string[] = [];
  vi.stubGlobal("fetch", ({ url }: Request) => {
    const { searchParams } = new URL(url);
    asked.push(`${searchParams.get("limit")} ${searchParams.get("continue") ?? ""}`);
    const items = Array.from(
      { length: Math.min(2, Number(searchParams.get("limit"))) },
      () => ({}),
    );
    return Promise.resolve(Response.json({ metadata: { continue: `p${asked.length}` }, items }));
  });
  const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  try {
    expect(await run(["event", "list", "--limit", "5", "-o", "json"])).toBe(0);
    const text = write.mock.calls.map(([one]) => String(one)).join("");
    expect(JSON.parse(text)).toHaveLength(5);
    expect(asked).toEqual(["5 ", "3 p1", "1 p2"]);
  } finally {
    write.mockRestore();
    vi.unstubAllGlobals();
  }
});
