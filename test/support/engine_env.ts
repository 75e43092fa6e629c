import type { EngineEnv } from "../../src/engine/engine.ts";
import { STANDARD_NAMING } from "../../src/spec/naming.ts";

/** What the engine is given in a test that needs nothing special: one moment, standard names, no stored manifests. */
export const ENGINE_ENV: EngineEnv = {
  now: Date.UTC(2026, 0, 1),
  randomSuffix: (length) => "x".repeat(length),
  findManifest: () => null,
  labelPrefix: STANDARD_NAMING.labelPrefix,
  apiGroup: STANDARD_NAMING.apiGroup,
};
