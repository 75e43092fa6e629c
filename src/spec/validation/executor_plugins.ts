/** Rules for the plugins of a workflow. There are none here, but a manifest that the reference refuses is refused here too. */
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { SpecError } from "../spec_error.ts";

/** @throws {SpecError} */
export function checkExecutorPlugins(plugins: readonly JsonObject[] = []): void {
  for (const plugin of plugins) {
    const container = member(member(member(plugin, "spec"), "sidecar"), "container");
    const resources = member(container, "resources");
    const problem = !Array.isArray(container.ports) || container.ports.length === 0
      ? "at least one port is mandatory"
      : !isJsonObject(resources.requests)
      ? "resources requests are mandatory"
      : !isJsonObject(resources.limits)
      ? "resources limits are mandatory"
      : !isJsonObject(container.securityContext)
      ? "security context is mandatory"
      : undefined;
    if (problem !== undefined) throw new SpecError(`spec.executorPlugins: ${problem}`);
  }
}

function member(object: JsonObject, name: string): JsonObject {
  const value = object[name];
  return isJsonObject(value) ? value : {};
}
