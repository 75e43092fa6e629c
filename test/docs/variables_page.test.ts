import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { VARIABLES_PAGE, variablesPage } from "../../tools/variables_page.ts";

it("docs/variables.md is what the catalogue gives", async () => {
  expect(await readFile(VARIABLES_PAGE, "utf8")).toBe(variablesPage());
});
