import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { MACHINES_PAGE, machinesPage } from "../../tools/machines_page.ts";

it("docs/machines.md shows the machines as they are", async () => {
  expect(await readFile(MACHINES_PAGE, "utf8")).toBe(machinesPage());
});
