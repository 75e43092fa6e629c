/** For each alert of the chart: figures with which it fires after half an hour, and figures with which it does not. */

/** Series by name and labels → values of each minute, as promtool writes them. */
type Figures = Record<string, string>;

export interface AlertCase {
  fires: Figures;
  quiet: Figures;
  /** Labels of the alert besides namespace, job and severity. */
  labels?: Record<string, string>;
  /** Value that its description shows. */
  value?: string;
  /** When it is looked at, minutes. @default 30 */
  at?: number;
}

/** A counter that grows by so much each minute. */
const grows = (each: number) => `0+${each}x60`;
const stays = (value: number) => `${value}x60`;
/** Nothing, and from the 25th minute on this. */
const later = (value: number) => `${stays(0).replace("60", "24")} ${value}x30`;

/** A histogram whose values all lie between two of its bounds. */
function histogram(name: string, labels: string, from: number, to: number): Figures {
  const series = (le: string) => `${name}_bucket{${labels === "" ? "" : `${labels},`}le="${le}"}`;
  return {
    [series(String(from))]: stays(0),
    [series(String(to))]: grows(60),
    [series("+Inf")]: grows(60),
  };
}

const events = (result: string, each: number) => ({
  [`sluice_events_received_total{result="${result}"}`]: grows(each),
});
const loop = (above: number) => ({
  "sluice_event_loop_delay_seconds_count": grows(300),
  'sluice_event_loop_delay_seconds_bucket{le="1"}': grows(300 - above),
});

export const ALERT_CASES: Readonly<Record<string, AlertCase>> = {
  SluiceDown: {
    fires: { sluice_shards_owned: "64x10 _x50" },
    quiet: {
      'sluice_shards_owned{pod="a"}': "64x10 _x50",
      'sluice_shards_owned{pod="b"}': stays(0),
    },
  },
  SluiceShardsWithoutOwner: {
    fires: {
      'sluice_shards{pod="a"}': stays(64),
      'sluice_shards_owned{pod="a"}': stays(32),
      'sluice_shards_owned{pod="b"}': stays(31),
    },
    quiet: {
      'sluice_shards{pod="a"}': stays(64),
      'sluice_shards_owned{pod="a"}': stays(32),
      'sluice_shards_owned{pod="b"}': `${stays(32).replace("60", "28")} 31 32x30`,
    },
  },
  SluiceLeasesLost: {
    fires: { 'sluice_lease_changes_total{change="lost"}': later(3) },
    quiet: {
      'sluice_lease_changes_total{change="lost"}': stays(3),
      'sluice_lease_changes_total{change="released"}': grows(1),
    },
  },
  SluiceTakeOverSlow: {
    fires: histogram("sluice_shard_take_over_seconds", 'former="expired"', 15, 30),
    quiet: histogram("sluice_shard_take_over_seconds", 'former="expired"', 2.5, 5),
  },
  SluiceCommandsStuck: {
    fires: { 'sluice_oldest_command_seconds{pod="a"}': "0x20 0+60x40" },
    quiet: { 'sluice_oldest_command_seconds{pod="a"}': "0x28 40 40 0x30" },
  },
  SluiceMailboxLate: {
    fires: histogram("sluice_mailbox_lag_seconds", "", 5, 10),
    quiet: histogram("sluice_mailbox_lag_seconds", "", 1, 2.5),
  },
  SluiceLoopBlocked: { fires: loop(1), quiet: loop(0) },
  SluiceProcessRestarts: {
    fires: { 'sluice_process_starts_total{sluice_process="1"}': grows(1) },
    quiet: { 'sluice_process_starts_total{sluice_process="1"}': stays(1) },
  },
  SluiceRequestErrors: {
    fires: {
      'sluice_http_requests_total{status="200"}': grows(98),
      'sluice_http_requests_total{status="504"}': grows(2),
    },
    quiet: {
      'sluice_http_requests_total{status="200"}': grows(90),
      'sluice_http_requests_total{status="503"}': grows(10),
    },
  },
  SluiceCallbacksUnknown: {
    fires: { 'sluice_callback_uses_total{result="unknown",verb="resume"}': grows(120) },
    quiet: {
      'sluice_callback_uses_total{result="unknown",verb="resume"}': grows(6),
      'sluice_callback_uses_total{result="accepted",verb="resume"}': grows(6_000),
    },
  },
  SluiceEventsRefused: { fires: events("full", 1), quiet: events("accepted", 1) },
  SluiceEventsFailed: { fires: events("failed", 1), quiet: events("duplicate", 1) },
  SluiceEventQueueFilling: {
    fires: { sluice_event_queue_depth: stays(110), sluice_event_queue_bound: stays(128) },
    quiet: { sluice_event_queue_depth: "0x28 128 0x31", sluice_event_queue_bound: stays(128) },
  },
  SluiceDeadLetters: {
    fires: { sluice_dead_letters_total: later(1) },
    quiet: { sluice_dead_letters_total: stays(7) },
  },
  SluiceWebhooksLate: {
    fires: histogram("sluice_webhook_lag_seconds", "", 60, 300),
    quiet: histogram("sluice_webhook_lag_seconds", "", 1, 5),
  },
  SluiceWebhookReceiverDown: {
    // Now and then it is tried.
    fires: { 'sluice_webhook_open_circuits{pod="a"}': "1x20 0 1x60" },
    quiet: { 'sluice_webhook_open_circuits{pod="a"}': "0x20 1x3 0x60" },
  },
  SluiceWebhooksDead: {
    fires: { 'sluice_webhook_deliveries_total{outcome="dead"}': "_x25 1x35" },
    quiet: {
      'sluice_webhook_deliveries_total{outcome="dead"}': stays(3),
      'sluice_webhook_deliveries_total{outcome="delivered"}': grows(9),
    },
  },
  SluiceWebhooksPending: {
    fires: {
      'sluice_webhook_pending{pod="a"}': stays(600),
      'sluice_webhook_pending{pod="b"}': stays(600),
    },
    quiet: { sluice_webhook_pending: "0x20 2000x5 0x35" },
  },
  SluiceEventsLate: {
    fires: histogram("sluice_event_dispatch_lag_seconds", "", 5, 10),
    quiet: histogram("sluice_event_dispatch_lag_seconds", "", 0.25, 0.5),
  },
  SluiceEventsStuck: {
    fires: { sluice_oldest_event_seconds: "0+60x60" },
    quiet: { sluice_oldest_event_seconds: stays(200) },
  },
  SluiceCommitsSlow: {
    fires: histogram("sluice_commit_seconds", "", 0.5, 1),
    quiet: histogram("sluice_commit_seconds", "", 0.1, 0.25),
  },
  SluiceWritesRefused: {
    fires: { 'sluice_store_writes_refused{pod="a"}': stays(1) },
    quiet: { 'sluice_store_writes_refused{pod="a"}': stays(0) },
  },
  SluiceStoreFailures: {
    fires: { 'sluice_store_failures_total{operation="commit"}': grows(12) },
    quiet: {
      'sluice_store_failures_total{operation="commit"}': later(20).replace("20x30", "20x3 20x27"),
    },
  },
  SluiceStoreSlow: {
    fires: histogram("sluice_store_seconds", 'operation="list"', 1, 2.5),
    quiet: histogram("sluice_store_seconds", 'operation="list"', 0.25, 0.5),
    labels: { operation: "list" },
  },
  SluiceArchiveBehind: {
    fires: { sluice_archive_oldest_seconds: stays(4_000) },
    quiet: { sluice_archive_oldest_seconds: stays(3_000) },
  },
  SluiceArchiveBacklog: {
    fires: {
      'sluice_archive_backlog{pod="a"}': stays(3_000),
      'sluice_archive_backlog{pod="b"}': stays(3_000),
    },
    quiet: { 'sluice_archive_backlog{pod="a"}': stays(3_000) },
  },
  SluicePodsRefused: {
    fires: { 'sluice_pod_create_refused_total{reason="quota"}': grows(1) },
    quiet: { 'sluice_pod_create_refused_total{reason="quota"}': stays(9) },
    labels: { reason: "quota" },
  },
  SluicePodsSlow: {
    fires: histogram("sluice_pod_create_seconds", "", 1, 2.5),
    quiet: histogram("sluice_pod_create_seconds", "", 0.1, 0.25),
  },
  SluiceUnreadableRecords: {
    // The series begins with the first record.
    fires: { 'sluice_unreadable_records_total{kind="event"}': "_x25 1x35" },
    quiet: { 'sluice_unreadable_records_total{kind="event"}': stays(1) },
    labels: { kind: "event" },
  },
  SluiceWaitsLong: {
    fires: { 'sluice_workflows_waiting{age="7d+"}': stays(2) },
    quiet: {
      'sluice_workflows_waiting{age="1d-7d"}': stays(2),
      'sluice_workflows_waiting{age="7d+"}': stays(0),
    },
    value: "2",
    at: 66,
  },
  SluiceNoCensus: {
    fires: { 'sluice_shards_owned{pod="a"}': stays(64) },
    quiet: {
      'sluice_shards_owned{pod="a"}': stays(64),
      'sluice_workflows{pod="a",phase="Running"}': stays(0),
    },
  },
};
