/** What the use cases need, for tests that call them on a host of a deployment without a server. */
import type { Host } from "../../src/actors/host.ts";
import { type Clock, systemClock } from "../../src/platform/clock.ts";
import { createLogger } from "../../src/platform/log.ts";
import type { ServiceDeps } from "../../src/service/deps.ts";
import { EventFeed } from "../../src/service/events/stream/feed.ts";
import { createSharedLooks } from "../../src/service/shared_looks.ts";
import { KnownCounts } from "../../src/service/workflows/known_counts.ts";
import { createWorkflowSource } from "../../src/service/workflows/source.ts";
import { WatchHub } from "../../src/service/workflows/watch_hub.ts";
import { STANDARD_NAMING } from "../../src/spec/naming.ts";
import type { Deployment } from "./deployment.ts";
import { seededIds } from "./seeded_ids.ts";
import { TEST_SETTINGS } from "./test_settings.ts";

/** @param watchClock of watches: that of the system lets them go on while the deployment's clock stands still */
export function serviceDeps(
  { store, clock }: Deployment,
  host: Host,
  watchClock: Clock = systemClock,
): ServiceDeps {
  const log = createLogger("silent");
  const workflows = createWorkflowSource(store, clock);
  const looked = { host, store, clock, settings: TEST_SETTINGS, workflows };
  return {
    ...looked,
    ...createSharedLooks(looked, { store: "memory", durability: "always" }),
    log,
    ids: seededIds(7),
    watches: new WatchHub(store, workflows, watchClock),
    counts: new KnownCounts(clock),
    events: new EventFeed({ store, clock, log, naming: STANDARD_NAMING }),
  };
}
