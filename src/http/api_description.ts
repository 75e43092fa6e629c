/** What the service says about its own API: OpenAPI, JSON Schemas, and a page to try the routes. */
import type { Env, Hono } from "hono";
import { writeJson } from "../base/json_text.ts";
import { KINDS } from "../spec/schema/decode_manifest.ts";
import { anyManifestSchema, jsonSchema } from "../spec/schema/json_schema.ts";
import { API_PAGE, API_PAGE_SCRIPT } from "./api_page.ts";
import { openApi } from "./openapi.ts";
import type { Route } from "./route.ts";

const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/** Adds the routes of the description. They show nothing that is stored, so they need no credentials. */
export function mountDescription<E extends Env>(
  app: Hono<E>,
  routes: readonly Route[],
  version: string,
): void {
  let description: string | undefined;
  app.get("/openapi.json", () => jsonText(description ??= writeJson(openApi(routes, version))));
  app.get("/apidocs", (c) => c.html(API_PAGE, 200, { "content-security-policy": PAGE_POLICY }));
  app.get("/apidocs/page.js", (c) =>
    c.body(API_PAGE_SCRIPT, 200, {
      "content-type": "text/javascript; charset=utf-8",
    }));
  for (const kind of KINDS) {
    app.get(`/schema/${kind}.json`, () => jsonText(writeJson(jsonSchema(kind))));
  }
  app.get("/schema/Manifest.json", () => jsonText(writeJson(anyManifestSchema())));
}

function jsonText(text: string): Response {
  return new Response(text, { headers: { "content-type": "application/json" } });
}
