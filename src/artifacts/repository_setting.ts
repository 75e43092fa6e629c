/** The artifact repository of a deployment as one text, for a flag. */
import { resolve } from "node:path";
import { invalid } from "../base/problem.ts";
import type { S3Options } from "./s3_objects.ts";

/** The artifact repository of a deployment. */
export type RepositorySetting =
  | { type: "folder"; path: string }
  | ({ type: "s3"; keyPrefix?: string } & S3Options);

/**
 * Reads `FOLDER`, `folder:FOLDER`, or `s3://[KEY:SECRET@]ENDPOINT/BUCKET[/PREFIX][?region=R&insecure=true&create=true]`.
 *
 * @throws {Problem} InvalidArgument when it is none of these.
 */
export function parseRepository(text: string): RepositorySetting {
  if (!text.startsWith("s3://")) {
    const path = text.replace(/^folder:/, "");
    if (path === "" || /^\w{2,}:/.test(path)) {
      throw invalid(`Artifact repository "${text}" is neither FOLDER nor s3://ENDPOINT/BUCKET`);
    }
    return { type: "folder", path: resolve(path) };
  }
  // With a scheme that URL knows, it keeps host and port apart.
  const url = URL.parse(`http://${text.slice("s3://".length)}`);
  if (url === null) {
    // Intentionally without the text, which may hold the secret.
    throw invalid(
      "Artifact repository is not s3://KEY:SECRET@ENDPOINT/BUCKET: percent-encode what KEY and SECRET have beside letters and digits (/ is %2F)",
    );
  }
  const [bucket = "", ...prefix] = url.pathname.slice(1).split("/").map(decodeURIComponent);
  if (bucket === "") throw invalid(`Artifact repository has no bucket: s3://${url.host}`);
  const region = url.searchParams.get("region");
  const keyPrefix = prefix.filter((part) => part !== "").join("/");
  return {
    type: "s3",
    endpoint: url.host,
    bucket,
    insecure: url.searchParams.get("insecure") === "true",
    createBucket: url.searchParams.get("create") === "true",
    ...(region !== null && { region }),
    ...(keyPrefix !== "" && { keyPrefix: `${keyPrefix}/` }),
    ...(url.username !== "" && {
      accessKey: decodeURIComponent(url.username),
      secretKey: decodeURIComponent(url.password),
    }),
  };
}
