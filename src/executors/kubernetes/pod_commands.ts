/** Own commands of a task's images, read from their registries with the pull secrets that its pod will have. */
import { errorText } from "../../base/error_text.ts";
import { isJsonObject } from "../../base/json.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import type { TaskSpec } from "../../engine/effect.ts";
import { unavailable } from "../../base/problem.ts";
import { type KubeClient, KubeError } from "../../kubernetes/kube_client.ts";
import { type ImageCommand, type ImageConfigs, loginsOf, RegistryTrouble } from "./image_config.ts";
import type { RegistryLogins } from "./image_config.ts";
import { imagesWithoutCommand } from "./needs_wrapper.ts";

/**
 * Commands by image, for those that the pod can't be made without.
 *
 * @throws {Problem} Unavailable while a registry can't answer
 * @throws {Error} saying to set `command`
 */
export async function commandsOf(
  client: KubeClient,
  images: ImageConfigs,
  task: TaskSpec,
  labelPrefix: string,
): Promise<Map<string, ImageCommand>> {
  const found = new Map<string, ImageCommand>();
  const wanted = imagesWithoutCommand(task, labelPrefix);
  if (wanted.length === 0) return found;
  const logins = await pullLogins(client, task);
  for (const image of wanted) {
    try {
      found.set(image, await images.commandOf(image, logins));
    } catch (error) {
      const reason = errorText(error);
      const message =
        `A container with outputs or input artifacts needs its command; set command, since that of image "${image}" can't be read from its registry: ${reason}`;
      throw error instanceof RegistryTrouble ? unavailable(message) : new Error(message);
    }
  }
  return found;
}

async function pullLogins(
  client: KubeClient,
  { namespace, podSpec }: TaskSpec,
): Promise<RegistryLogins> {
  const logins: RegistryLogins = {};
  for (const reference of podSpec.imagePullSecrets ?? []) {
    const name = isJsonObject(reference) ? String(reference["name"] ?? "") : "";
    try {
      const path = `/api/v1/namespaces/${namespace}/secrets/${encodeURIComponent(name)}`;
      const { data } = await client.call<{ data?: JsonObject }>({ path });
      const packed = String(data?.[".dockerconfigjson"] ?? "");
      const config = JSON.parse(Buffer.from(packed, "base64").toString() || "{}") as Json;
      Object.assign(logins, loginsOf(config));
    } catch (error) {
      // Without it the registry may still answer; the pod says the rest.
      if (!(error instanceof KubeError || error instanceof SyntaxError)) throw error;
    }
  }
  return logins;
}
