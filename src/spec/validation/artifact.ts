/** Rules for artifact paths and locations. */
import type { JsonObject } from "../../base/json.ts";
import { cleanPath } from "../../expr/values/go_path.ts";
import type { Artifact, ArtifactLocation } from "../manifest.ts";
import { SpecError } from "../spec_error.ts";

/**
 * Checks that an artifact has a path, and that the path does not leave the folder in which it starts: a value that is
 * inserted into the path must not reach other files.
 *
 * @param place the artifact's place in messages
 * @throws {SpecError}
 */
export function checkArtifactPath(place: string, artifact: Artifact): void {
  const path = artifact.path ?? "";
  if (path === "") {
    throw new SpecError(`error in ${place}: Artifact '${artifact.name}' did not specify a path`);
  }
  const climb = path.indexOf("/../");
  const folder = climb >= 0 ? path.slice(0, climb) : path.endsWith("/..") ? path.slice(0, -3) : "";
  const clean = cleanPath(path);
  if (folder !== "" && !(clean.startsWith(`${folder}/`) && clean.length > folder.length + 1)) {
    throw new SpecError(
      `error in ${place}: Artifact '${artifact.name}' attempted to use a path containing '..'. ` +
        "Directory traversal is not permitted",
    );
  }
}

/**
 * @param place the location's place in messages
 * @throws {SpecError}
 */
export function checkArtifactLocation(place: string, location: ArtifactLocation): void {
  if (location.git !== undefined && isEmpty(location.git.repo)) {
    throw new SpecError(`${place}.git.repo is required`);
  }
  if (location.hdfs !== undefined) checkHdfs(`${place}.hdfs`, location.hdfs);
}

function checkHdfs(place: string, hdfs: JsonObject): void {
  if (isEmpty(hdfs.addresses)) throw new SpecError(`${place}.addresses is required`);
  if (isEmpty(hdfs.path)) throw new SpecError(`${place}.path is required`);
  if (!String(hdfs.path).startsWith("/")) {
    throw new SpecError(`${place}.path must be a absolute file path`);
  }
  const cache = hdfs.krbCCacheSecret !== undefined;
  const keytab = hdfs.krbKeytabSecret !== undefined;
  if (isEmpty(hdfs.hdfsUser) && !cache && !keytab) {
    throw new SpecError(
      `either ${place}.hdfsUser, ${place}.krbCCacheSecret or ${place}.krbKeytabSecret is required`,
    );
  }
  const service = !isEmpty(hdfs.krbServicePrincipalName) && hdfs.krbConfigConfigMap !== undefined;
  if (keytab && !(service && !isEmpty(hdfs.krbUsername) && !isEmpty(hdfs.krbRealm))) {
    throw new SpecError(
      `${place}.krbServicePrincipalName, ${place}.krbConfigConfigMap, ${place}.krbUsername and ` +
        `${place}.krbRealm are required with ${place}.krbKeytabSecret`,
    );
  }
  if (cache && !service) {
    throw new SpecError(
      `${place}.krbServicePrincipalName and ${place}.krbConfigConfigMap are required with ` +
        `${place}.krbCCacheSecret`,
    );
  }
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === "" || (Array.isArray(value) && value.length === 0);
}
