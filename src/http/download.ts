/** Answers that are files. */
import { webStream } from "../platform/web_stream.ts";
import type { ArtifactContent } from "../service/artifacts/artifacts.ts";
import type { Download } from "./route.ts";

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

/** Lets a browser show files of steps without giving them any rights of this origin. */
const SANDBOX = {
  "content-security-policy":
    "sandbox allow-same-origin; base-uri 'none'; default-src 'none'; img-src 'self'; style-src 'self' 'unsafe-inline'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "SAMEORIGIN",
};

/** The answer to a download. A file is not read if only its headers are wanted. */
export function downloadResponse(found: Download, method: string): Response {
  switch (found.type) {
    case "file":
      return fileResponse(found.content, method);
    case "page":
      return new Response(method === "HEAD" ? null : found.html, {
        headers: { "content-type": "text/html; charset=utf-8", ...SANDBOX },
      });
    case "redirect":
      return new Response(null, { status: 307, headers: { location: found.to } });
  }
}

function fileResponse(content: ArtifactContent, method: string): Response {
  const name = content.name.replace(/[^\x20-\x7e]|["\\]/g, "_");
  const ending = /\.([^./]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
  if (method === "HEAD") content.body.destroy();
  const body = method === "HEAD" ? null : webStream(content.body);
  return new Response(body, {
    headers: {
      "content-disposition": `filename="${name}"`,
      "content-type": Object.hasOwn(TYPES, ending)
        ? TYPES[ending] ?? ""
        : "application/octet-stream",
      ...SANDBOX,
      ...(content.size !== undefined && { "content-length": String(content.size) }),
    },
  });
}
