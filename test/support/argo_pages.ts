/** The reference's built pages and a browser to show them in, if both are available. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { type BrowserContext, chromium, type Page } from "playwright-core";

/**
 * Beside the project, or where the variable says: a folder with the pages, or with `app.tar.gz`, which contains them.
 */
const PAGES = process.env["SLUICE_TEST_ARGO_UI"] ?? "../shared/tools/argo-ui";
const ARCHIVE = join(PAGES, "app.tar.gz");
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Why the pages can't be tested here; undefined if they can. Installs the browser if possible. */
export function pagesMissing(): string | undefined {
  if (!existsSync(ARCHIVE) && !existsSync(join(PAGES, "index.html"))) {
    return `no built pages at ${PAGES} (SLUICE_TEST_ARGO_UI names another folder)`;
  }
  return browserMissing();
}

/** Why no page can be shown here; undefined if one can. Installs the browser if possible. */
export function browserMissing(): string | undefined {
  if (
    browserPath() === undefined && process.getuid?.() === 0 && existsSync("/etc/debian_version")
  ) {
    const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
    const args = ["install", "-y", "-q", "--no-install-recommends", "chromium"];
    spawnSync("apt-get", ["update", "-q"], { env, stdio: "ignore" });
    spawnSync("apt-get", args, { env, stdio: "ignore" });
  }
  return browserPath() === undefined
    ? "no browser: chromium is not installed (Debian: apt-get install chromium)"
    : undefined;
}

function browserPath(): string | undefined {
  return ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find((path) => existsSync(path));
}

/** Unpacks the pages; resolves with their folder. */
export async function openPages(): Promise<{ dir: string; remove(): Promise<void> }> {
  if (!existsSync(ARCHIVE)) return { dir: PAGES, remove: () => Promise.resolve() };
  const folder = await mkdtemp(join(tmpdir(), "sluice-argo-ui-"));
  const { status } = spawnSync("tar", ["xzf", ARCHIVE, "-C", folder], { stdio: "inherit" });
  if (status !== 0) throw new Error(`tar could not unpack ${ARCHIVE}`);
  return {
    dir: join(folder, "app"),
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

export interface Browser {
  page: Page;
  /**
   * What has gone wrong since the last check: errors of the pages and of the console, and answers that report an error.
   */
  troubles(): string[];
  /** What streams have sent to the open page. */
  heard(): Promise<string>;
  close(): Promise<void>;
}

/** Records what streams send to a page. */
const LISTEN = `
globalThis.heard = "";
globalThis.EventSource = class extends EventSource {
  constructor(...options) {
    super(...options);
    this.addEventListener("message", ({ data }) => (globalThis.heard += data + "\\n"));
  }
};`;

/** Starts a browser with an empty profile. */
export async function openBrowser(): Promise<Browser> {
  const profile = await mkdtemp(join(tmpdir(), "sluice-browser-"));
  const context: BrowserContext = await chromium.launchPersistentContext(profile, {
    executablePath: browserPath() ?? "chromium",
    headless: true,
    viewport: { width: 1280, height: 900 },
    args: FLAGS,
    timeout: 120_000,
  });
  const page = context.pages()[0] ?? await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.addInitScript({ content: LISTEN });
  let troubles: string[] = [];
  context.on("response", (response) => {
    const { pathname } = new URL(response.url());
    const method = response.request().method();
    if (response.status() >= 400) troubles.push(`${response.status()} ${method} ${pathname}`);
  });
  context.on("weberror", (error) => troubles.push(`page error: ${error.error().message}`));
  context.on("console", (message) => {
    // Answers that report an error are recorded separately.
    const isNoted = /^Failed to load resource: the server responded with a status/.test(
      message.text(),
    );
    if (message.type() === "error" && !isNoted) troubles.push(`console: ${message.text()}`);
  });
  return {
    page,
    troubles() {
      const found = troubles;
      troubles = [];
      return found;
    },
    heard: () => page.evaluate<string>("globalThis.heard"),
    async close() {
      await context.close();
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
