/** Settings of a service under test. */
import process from "node:process";
import type { ServiceSettings } from "../../src/service/deps.ts";
import { STANDARD_NAMING } from "../../src/spec/naming.ts";

export const TEST_SETTINGS: ServiceSettings = {
  naming: STANDARD_NAMING,
  build: {
    version: "v0.0.0",
    buildDate: "1970-01-01T00:00:00Z",
    gitCommit: "",
    gitTag: "",
    gitTreeState: "",
    goVersion: "",
    compiler: "",
    platform: `${process.platform}/${process.arch}`,
  },
  eventQueueSize: 64,
  maxEventBytes: 1024 * 1024,
  authRequired: false,
  archive: false,
};
