/** Answers that are files. */
import { Readable } from "node:stream";
import type { ArtifactContent } from "../service/artifacts.ts";

const TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  csv: "text/csv; charset=utf-8",
  gif: "image/gif",
  gz: "application/gzip",
  html: "text/html; charset=utf-8",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  json: "application/json",
  log: "text/plain; charset=utf-8",
  md: "text/markdown; charset=utf-8",
  pdf: "application/pdf",
  png: "image/png",
  svg: "image/svg+xml",
  tar: "application/x-tar",
  tgz: "application/gzip",
  txt: "text/plain; charset=utf-8",
  xml: "text/xml; charset=utf-8",
  yaml: "text/yaml; charset=utf-8",
  yml: "text/yaml; charset=utf-8",
  zip: "application/zip",
};

/** Serves stored bytes so that a browser shows them without giving them any rights of this origin. */
export function fileResponse(content: ArtifactContent): Response {
  const name = content.name.replace(/[^\x20-\x7e]|["\\]/g, "_");
  const ending = /\.([^./]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
  return new Response(Readable.toWeb(content.body) as unknown as ReadableStream<Uint8Array>, {
    headers: {
      "content-disposition": `filename="${name}"`,
      "content-type": TYPES[ending] ?? "application/octet-stream",
      "content-security-policy":
        "sandbox allow-same-origin; base-uri 'none'; default-src 'none'; img-src 'self'; style-src 'self' 'unsafe-inline'",
      "x-content-type-options": "nosniff",
      "x-frame-options": "SAMEORIGIN",
      ...(content.size === undefined ? {} : { "content-length": String(content.size) }),
    },
  });
}
