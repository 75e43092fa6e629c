/**
 * Test files that run by themselves, for each project. They measure time: of the clock, of the processor, or of a server that
 * must not be slower than stated, or late; or they measure a server's memory, or wait for large programs of others (pip),
 * whose time is limited. What ran beside them would count too. `tools/alone.test.ts` finds files that take the time and
 * are not here.
 */
export const ALONE = {
  unit: [
    "src/base/json_text.test.ts",
    "src/engine/limits.test.ts",
    "src/expr/functions/sprig.test.ts",
    "src/expr/language/budgets.test.ts",
    "src/expr/language/language.test.ts",
    "src/expr/templates/contexts.test.ts",
    "src/expr/templates/template.test.ts",
    "src/platform/fair_limiter.test.ts",
    "src/platform/line_splitter.test.ts",
    "src/platform/serve.test.ts",
    "src/platform/turns.test.ts",
    "src/service/events/binding_runs.test.ts",
    "src/platform/traces/span_queue.test.ts",
    "src/platform/process/watchdog.test.ts",
    "src/spec/exact_items.test.ts",
    "src/spec/validation/foreseen_nodes.test.ts",
    "src/ui/app/model/layered.test.ts",
    "src/wiring/shut_down.test.ts",
  ],
  property: [
    "src/engine/orders/retry_plan.property.test.ts",
    "src/expr/language/expr.property.test.ts",
  ],
  contract: [
    "test/contract/archive/argo_archive.test.ts",
    "test/contract/http/request_bodies.test.ts",
    "test/contract/store/large_retry.test.ts",
    "test/contract/store/store.test.ts",
  ],
  e2e: [
    "test/e2e/growing.test.ts",
    "test/e2e/hera.test.ts",
    "test/e2e/http_slots.test.ts",
    "test/e2e/image.test.ts",
    "test/e2e/jsr.test.ts",
    "test/e2e/linearizability.test.ts",
    "test/e2e/publish_oci.test.ts",
    "test/e2e/schemathesis.test.ts",
    "test/e2e/traces.test.ts",
    "test/e2e/ui/speed.test.ts",
    "test/e2e/ui/times.test.ts",
    "test/e2e/watchers.test.ts",
  ],
} as const satisfies Record<string, readonly string[]>;

/**
 * Those that measure the clock as well, but leave the processors idle for more than half of their time. They run beside each
 * other, not beside the rest.
 */
export const WAITING = {
  contract: [
    "test/contract/auth/cluster_reviews.test.ts",
    "test/contract/kubernetes/cluster_faults.test.ts",
    "test/contract/store/redis/dead_master.test.ts",
    "test/contract/store/redis/redis_trouble.test.ts",
    "test/contract/store/redis/replica_wait.test.ts",
    "test/contract/store/redis/sentinels.test.ts",
    "test/contract/store/redis/silent_node.test.ts",
  ],
  e2e: [
    "test/chaos/chaos.test.ts",
    "test/e2e/cron.test.ts",
    "test/e2e/events.test.ts",
    "test/e2e/metrics.test.ts",
    "test/e2e/processes.test.ts",
    "test/e2e/webhooks.test.ts",
  ],
} as const satisfies Record<string, readonly string[]>;
