/** Finds the object store of an artifact: the repository in force, or the bucket that a location names. */
import { parse } from "yaml";
import { BoundedCache } from "../base/bounded_cache.ts";
import { defined } from "../base/defined.ts";
import { isJsonObject, type Json, type JsonObject } from "../base/json.ts";
import { invalid, notFound, Problem, ProblemCode } from "../base/problem.ts";
import type { ArtifactKeys } from "../spec/artifact_key.ts";
import type { ConfigSource } from "./config_source.ts";
import { FolderObjects } from "./folder_objects.ts";
import type { ReadSecret } from "./http_artifact.ts";
import { type Location, textMember } from "./location.ts";
import type { ObjectStore } from "./object_store.ts";
import type { ArtifactScope } from "./port.ts";
import type { RepositorySetting } from "./repository_setting.ts";
import { RepositoryView } from "./repository_view.ts";
import { S3Objects, type S3Options } from "./s3_objects.ts";

/** Most buckets that are kept open. */
const MAX_OPEN = 100;

export interface RepositoriesOptions {
  /** Where artifacts go whose location has only a key, or none; absent: such artifacts fail. */
  repository?: RepositorySetting;
  /** Which keys of the repository a workflow may use. @default {"namespace"} */
  keys?: ArtifactKeys;
  config: ConfigSource;
}

/** A repository as a workflow sees it. */
export interface Repository {
  objects: RepositoryView;
  /** How keys are made for artifacts without one, with `{{…}}` tags. */
  keyFormat?: string;
}

export class Repositories {
  readonly #options: RepositoriesOptions;
  readonly #default: { objects: ObjectStore; keyPrefix: string } | undefined;
  readonly #buckets = new BoundedCache<string, S3Objects>(MAX_OPEN);

  constructor(options: RepositoriesOptions) {
    this.#options = options;
    const { repository } = options;
    if (repository?.type === "folder") {
      this.#default = { objects: new FolderObjects(repository.path), keyPrefix: "" };
    } else if (repository !== undefined) {
      const { keyPrefix = "", type: _type, ...s3 } = repository;
      this.#default = { objects: new S3Objects(s3), keyPrefix };
    }
  }

  /** The store and key of a location. @throws {Problem} when there is no such store */
  async objects(
    location: Extract<Location, { key: string }>,
    scope: ArtifactScope,
  ): Promise<{ objects: ObjectStore; key: string }> {
    if (location.type === "s3") {
      return { objects: await this.#bucket(location.bucket, scope), key: location.key };
    }
    return { objects: (await this.inForce(scope)).objects, key: location.key };
  }

  /** The repository that the workflow chose, else its part of the deployment's. @throws {Problem} when there is none */
  async inForce({ namespace, repositoryRef, formerKeys }: ArtifactScope): Promise<Repository> {
    if (repositoryRef !== undefined) {
      return await this.#chosen(namespace, repositoryRef.configMap, repositoryRef.key);
    }
    if (this.#default !== undefined) {
      const { objects, keyPrefix } = this.#default;
      const isShared = this.#options.keys === "shared";
      return {
        objects: new RepositoryView(objects, {
          name: "the server's repository",
          keyPrefix,
          ...(!isShared && { namespace }),
          ...defined({ formerKeys }),
        }),
      };
    }
    throw new Problem(
      ProblemCode.FailedPrecondition,
      "No artifact repository is configured; start the server with one, or give the artifact a full location",
    );
  }

  async #chosen(
    namespace: string,
    configMap = "artifact-repositories",
    key?: string,
  ): Promise<Repository> {
    const entries = await this.#options.config.configMap(namespace, configMap);
    const names = Object.keys(entries ?? {});
    const text = entries?.[key ?? names[0] ?? ""];
    if (text === undefined) {
      throw notFound(
        `Artifact repository "${
          key ?? ""
        }" of ConfigMap "${configMap}" does not exist in namespace ${namespace}`,
      );
    }
    const setting = parse(text) as Json;
    const s3 = isJsonObject(setting) ? setting["s3"] : undefined;
    if (!isJsonObject(s3)) {
      throw invalid(
        `Artifact repository "${key ?? ""}" of ConfigMap "${configMap}" has no s3 part`,
      );
    }
    const keyPrefix = typeof s3["keyPrefix"] === "string" ? `${s3["keyPrefix"]}/` : "";
    const keyFormat = s3["keyFormat"];
    return {
      objects: new RepositoryView(await this.#bucket(s3, { namespace }), {
        keyPrefix: keyPrefix.replace(/\/+$/, "/"),
      }),
      ...(typeof keyFormat === "string" && keyFormat !== "" && { keyFormat }),
    };
  }

  async #bucket(location: JsonObject, scope: ArtifactScope): Promise<S3Objects> {
    const secret = this.secrets(scope);
    if (
      isJsonObject(location["encryptionOptions"]) &&
      location["encryptionOptions"]["serverSideCustomerKeySecret"] !== undefined
    ) {
      throw new Problem(
        ProblemCode.Unimplemented,
        "S3 encryption with a customer's key is not supported",
      );
    }
    const options: S3Options = {
      endpoint: textMember(location, "endpoint"),
      bucket: textMember(location, "bucket"),
      insecure: location["insecure"] === true,
      createBucket: isJsonObject(location["createBucketIfNotPresent"]),
      ...(typeof location["region"] === "string" && { region: location["region"] }),
      ...defined({
        accessKey: await secret(location["accessKeySecret"]),
        secretKey: await secret(location["secretKeySecret"]),
        sessionToken: await secret(location["sessionTokenSecret"]),
      }),
    };
    const identity = JSON.stringify(options);
    return this.#buckets.get(identity) ?? this.#buckets.set(identity, new S3Objects(options));
  }

  /** Reads the Secrets of the workflow's namespace. */
  secrets({ namespace }: ArtifactScope): ReadSecret {
    return async (reference) => {
      if (!isJsonObject(reference)) return undefined;
      const name = String(reference["name"] ?? "");
      const key = String(reference["key"] ?? "");
      const value = (await this.#options.config.secret(namespace, name))?.[key];
      if (value !== undefined || reference["optional"] === true) return value;
      throw notFound(`Secret "${name}" in namespace ${namespace} has no key "${key}"`);
    };
  }
}
