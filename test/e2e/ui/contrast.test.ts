/** With the colours of the system (high contrast), what only a ground tells can be told from it: seen in pictures. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Page } from "playwright-core";
import { browserMissing } from "../../support/argo_pages.ts";
import { openUi, type Ui, WAITS } from "../../support/ui.ts";

const missing = browserMissing();

/** The share of light pixels in the middle of a picture. */
async function lightShare(blank: Page, picture: string): Promise<number> {
  return await blank.evaluate(async (picture) => {
    const image = new Image();
    image.src = `data:image/png;base64,${picture}`;
    await image.decode();
    const drawing = new OffscreenCanvas(image.width, image.height).getContext("2d");
    drawing?.drawImage(image, 0, 0);
    const { data } = drawing?.getImageData(
      image.width * 0.3,
      image.height * 0.35,
      image.width * 0.4,
      image.height * 0.3,
    ) ?? { data: [] };
    let count = 0;
    for (let at = 0; at < data.length; at += 4) if ((data[at] ?? 0) > 200) count++;
    return count / (data.length / 4);
  }, picture);
}

describe.skipIf(missing !== undefined)(
  `high contrast${missing ? ` (skipped: ${missing})` : ""}`,
  () => {
    let ui: Ui;
    /** A page without a policy that forbids pictures. */
    let blank: Page;

    beforeAll(async () => {
      ui = await openUi();
      await ui.submit("waits", WAITS);
      blank = await ui.page.context().newPage();
      await ui.page.bringToFront();
      await ui.page.emulateMedia({ forcedColors: "active", colorScheme: "light" });
    });
    afterAll(() => ui?.close());
    afterEach(() => expect(ui.browser.troubles()).toEqual([]));

    /** The share of light pixels in the middle of an element. */
    async function middle(path: string, selector: string): Promise<number> {
      await ui.open(path);
      // Waits until the element rests, and takes it as a whole.
      const picture = await ui.page.locator(selector).first().screenshot();
      return await lightShare(blank, picture.toString("base64"));
    }

    test.each([
      ["/", "a.button.main"],
      ["/waiting", ".inbox button.main"],
      ["/submit?from=manifest", "form button.main:not(:disabled)"],
      ["/workflows/default/waits", ".tabs button[aria-selected=true]"],
      ["/events", ".tabs a[aria-current]"],
      ["/?phase=Waiting", ".chip[aria-pressed=true]"],
    ])("on %s light letters are on a dark ground: %s", async (path, selector) => {
      const share = await middle(path, selector);
      expect(share).toBeGreaterThan(0.02);
      expect(share).toBeLessThan(0.6);
    });

    test("shards show whose they are", async () => {
      expect(await middle("/system", ".shard")).toBe(0);
    });
  },
);
