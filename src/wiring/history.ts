/** Opens the archive beside the store, and starts what moves finished workflows there. */
import type { Archive } from "../archive/port.ts";
import { openPostgresArchive } from "../archive/postgres/archive.ts";
import { openSqliteArchive } from "../archive/sqlite/archive.ts";
import type { Host } from "../actors/host.ts";
import type { LabelTerm } from "../expr/selectors/label_selector.ts";
import type { Config } from "../platform/config.ts";
import type { History } from "../service/deps.ts";
import { Mover } from "../service/history/mover.ts";
import { MoveMetrics } from "../service/history/move_metrics.ts";
import { withArchive } from "../service/history/whole_store.ts";
import { isFromObject } from "../service/workflows/object_origin.ts";
import type { Store } from "../store/port.ts";
import { listOf, namingOf, type ServerContext } from "./context.ts";
import type { Storage } from "./storage.ts";

/** The archive, and what the use cases see of it. */
export interface OpenHistory extends History {
  /** The store and the archive as one. */
  whole: Store;
  metrics: MoveMetrics;
}

/** Opens the archive that the configuration names; undefined if that is the store. */
export function openHistory(
  { config, log, metrics }: ServerContext,
  { store }: Storage,
): OpenHistory | undefined {
  // Alerts name them, whether there is an archive or not.
  const moves = new MoveMetrics(metrics);
  const archive = openArchive(config);
  if (archive === undefined) return undefined;
  const whole = withArchive(store, archive, {
    naming: namingOf(config),
    onArchiveAway: (cause) => {
      log.warn({ err: cause }, "the archive is away: lists show what is in the store");
    },
  });
  return { live: store, archive, whole, metrics: moves, trouble: () => moves.trouble };
}

function openArchive(config: Config): Archive | undefined {
  const { archiveStore, durability } = config;
  if (archiveStore === "store") return undefined;
  const indexedParameters = listOf(config.archiveIndexParameters);
  if (archiveStore.startsWith("sqlite:")) {
    const synchronous = durability === "always" ? "FULL" : "NORMAL";
    const folder = archiveStore.slice("sqlite:".length);
    return openSqliteArchive({ folder, synchronous, indexedParameters });
  }
  return openPostgresArchive({
    url: archiveStore,
    clusterName: config.archiveClusterName,
    instanceId: config.archiveInstanceId,
    indexedParameters,
  });
}

/** Moves finished workflows until the server begins to stop. */
export function startMoving(
  { config, log, closing }: ServerContext,
  { store, clock }: Storage,
  { archive, metrics }: OpenHistory,
  { host, isKept, archiveSelector }: {
    host: Host;
    isKept: (labels: Record<string, string>) => boolean;
    archiveSelector: LabelTerm[];
  },
): void {
  const { keepFinished, keepFailed } = config;
  const mover = new Mover({ store, archive, host, clock, log, metrics }, {
    naming: namingOf(config),
    indexParameters: new Set(listOf(config.archiveIndexParameters)),
    keepMs: { Succeeded: keepFinished, Failed: keepFailed, Error: keepFailed },
    selector: archiveSelector,
    isKept,
    // As long as its object is in the cluster, the object shows how it is.
    stays: isFromObject,
  });
  void mover.run(closing);
}
