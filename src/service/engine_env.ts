/** What the engine is given outside an actor. */
import type { EngineEnv } from "../engine/engine.ts";
import type { ServiceDeps } from "./deps.ts";

/** For a look at a workflow, or a copy of one, which needs no manifests. */
export function engineEnv(
  { clock, ids, settings }: Pick<ServiceDeps, "clock" | "ids" | "settings">,
): EngineEnv {
  return {
    now: clock.now(),
    randomSuffix: (length) => ids.suffix(length),
    findManifest: () => undefined,
    ...settings.naming,
  };
}
