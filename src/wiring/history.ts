/** Opens the archive beside the store, and starts what moves finished workflows there. */
import type { Archive } from "../archive/port.ts";
import { openPostgresArchive } from "../archive/postgres/archive.ts";
import { hasSqliteArchive, openSqliteArchive } from "../archive/sqlite/archive.ts";
import type { Host } from "../actors/host.ts";
import { archivePlace } from "../platform/archive_place.ts";
import type { Config } from "../platform/config.ts";
import type { History } from "../service/deps.ts";
import type { Logger } from "../platform/log.ts";
import { Mover } from "../service/history/mover.ts";
import { MoveMetrics } from "../service/history/move_metrics.ts";
import { withArchive } from "../service/history/whole_store.ts";
import { isFromObject } from "../service/workflows/object_origin.ts";
import type { Store } from "../store/port.ts";
import { listOf, namingOf, type ServerContext } from "./context.ts";
import type { Storage } from "./storage.ts";

const SQLITE = "sqlite:";
/** The embedded store works on the thread of the server: moving takes at most a third of its time. */
const EMBEDDED_REST = 2;

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
  warnOfHidden(config, log);
  const archive = openArchive(config);
  if (archive === undefined) return undefined;
  const whole = withArchive(store, archive, {
    naming: namingOf(config),
    onArchiveAway: (cause) => {
      log.warn({ err: cause }, "the archive is unreachable: lists show what is in the store");
    },
  });
  return { live: store, archive, whole, metrics: moves, trouble: () => moves.trouble };
}

/** An archive that an earlier start has filled by default, and that this one does not show. */
function warnOfHidden(config: Config, log: Logger): void {
  const { store } = config;
  if (!store.startsWith(SQLITE) || archivePlace(config) === store) return;
  const folder = store.slice(SQLITE.length);
  if (!hasSqliteArchive(folder)) return;
  log.warn({ folder }, "finished workflows of the archive in the store's folder are not shown");
}

function openArchive(config: Config): Archive | undefined {
  const place = archivePlace(config);
  if (place === "store") return undefined;
  const indexedParameters = listOf(config.archiveIndexParameters);
  if (place.startsWith(SQLITE)) {
    const folder = place.slice(SQLITE.length);
    return openSqliteArchive({ folder, durability: config.durability, indexedParameters });
  }
  return openPostgresArchive({
    url: place,
    clusterName: config.archiveClusterName,
    instanceId: config.archiveInstanceId,
    indexedParameters,
  });
}

/** Moves finished workflows until the server begins to stop. */
export function startMoving(
  { config, settings, log, closing }: ServerContext,
  { store, clock }: Storage,
  { archive, metrics }: OpenHistory,
  { host, isKept }: {
    host: Host;
    isKept: (labels: Record<string, string>) => boolean;
  },
): void {
  const { keepFinished, keepFailed } = config;
  const mover = new Mover({ store, archive, host, clock, log, metrics }, {
    naming: namingOf(config),
    indexParameters: new Set(listOf(config.archiveIndexParameters)),
    keepMs: { Succeeded: keepFinished, Failed: keepFailed, Error: keepFailed },
    selector: settings.archiveSelector,
    isKept,
    ...(config.store.startsWith(SQLITE) && { restShare: EMBEDDED_REST }),
    // As long as its object is in the cluster, the object shows how it is.
    stays: isFromObject,
  });
  void mover.run(closing);
}
