/**
 * Pages of callback URLs for people: a GET shows what the URL does and a button that does it, without script. Programs that
 * only look at links, such as mail scanners, change nothing.
 */
import { createHash } from "node:crypto";
import { asProblem } from "../problems.ts";
import { CALLBACK_VERBS, type CallbackVerb } from "../../spec/callback.ts";
import { checkCallback } from "../../service/callbacks/use.ts";
import type { ServiceDeps } from "../../service/deps.ts";
import type { RouteApp } from "../serve_route.ts";
import { escapeHtml } from "./html.ts";

/** The text of the only style that the pages may have; the header names it by its hash. */
const STYLE = `
:root { color-scheme: light dark; font: 1.1rem/1.5 system-ui, sans-serif; }
body { max-width: 30rem; margin: 3rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
button { font: inherit; padding: .8rem 1.2rem; width: 100%; }
`;
const STYLE_HASH = createHash("sha256").update(STYLE).digest("base64");

const HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
};

const ACTIONS: Readonly<Record<CallbackVerb, { button: string; done: string }>> = {
  resume: { button: "Continue the workflow", done: "The step is resumed." },
  stop: { button: "Fail the step", done: "The step is stopped." },
  heartbeat: { button: "Extend the wait", done: "The step goes on waiting." },
};

/** Adds the pages. */
export function mountCallbackPages(app: RouteApp, service: ServiceDeps): void {
  for (const verb of CALLBACK_VERBS) {
    const path = `/callback/${verb}/:token`;
    app.get(path, async (c) => {
      try {
        const { workflow, node } = await checkCallback(service, c.req.param("token") ?? "", verb);
        return page(200, askText(verb, workflow, node));
      } catch (error) {
        const { status, message } = asProblem(error);
        return page(status, `<p>${escapeHtml(message)}</p>`);
      }
    });
  }
}

/** Shows the answer to a form as a page. */
export async function formPage(
  verb: CallbackVerb,
  headers: Headers,
  answer: Response,
): Promise<Response> {
  if (!isForm(headers)) return answer;
  const { status } = answer;
  const text = status === 200
    ? ACTIONS[verb].done
    : (await answer.json() as { message?: string }).message ?? "";
  const shown = page(status, `<p>${escapeHtml(text)}</p>`);
  for (const [name, value] of answer.headers) {
    if (name !== "content-type") shown.headers.set(name, value);
  }
  return shown;
}

/** A browser sends a form and wants to show a page. */
function isForm(headers: Headers): boolean {
  return headers.get("content-type")?.startsWith("application/x-www-form-urlencoded") === true &&
    headers.get("accept")?.includes("text/html") === true;
}

function askText(verb: CallbackVerb, workflow: string, node: string): string {
  return `<p>Workflow <b>${escapeHtml(workflow)}</b>, step <b>${escapeHtml(node)}</b></p>` +
    `<form method="post"><button>${ACTIONS[verb].button}</button></form>`;
}

function page(status: number, body: string): Response {
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Sluice</title>
<style>${STYLE}</style>
<h1>Sluice</h1>
${body}
</html>
`;
  return new Response(html, { status, headers: HEADERS });
}
