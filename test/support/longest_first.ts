/** The order of test files: those that take long begin first, so that no worker is left with one of them at the end. */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** What takes longer than 20 s beside others, the longest first. Vitest would judge by the size of a file. */
const LONG = [
  "test/chaos/chaos.test.ts",
  "test/contract/executors/executor.test.ts",
  "test/e2e/cli.test.ts",
  "test/chaos/ledger.test.ts",
  "test/e2e/waiting.test.ts",
  "test/e2e/pages_as_written.test.ts",
  "test/contract/store/large_workflows.test.ts",
  "test/contract/executors/local/step_walls.test.ts",
  "test/e2e/ui/quality.test.ts",
  "test/e2e/callbacks.test.ts",
  "test/e2e/ui/states.test.ts",
  "test/e2e/argo_ui.test.ts",
  "test/e2e/migrate_archive.test.ts",
  "test/e2e/package.test.ts",
  "test/e2e/migrate.test.ts",
  "test/e2e/ui/objects.test.ts",
  "test/contract/service/workflows/archive.test.ts",
  "test/contract/store/copy.test.ts",
  "test/contract/store/unreadable_events.test.ts",
  "test/contract/store/writes_refused.test.ts",
  "test/contract/kubernetes/cluster_faults.test.ts",
  "test/contract/store/redis/sentinels.test.ts",
];

function rank({ moduleId }: TestSpecification): number {
  const at = LONG.findIndex((file) => moduleId.endsWith(`/${file}`));
  return at < 0 ? LONG.length : at;
}

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const group = ({ project }: TestSpecification) => project.config.sequence.groupOrder;
    return (await super.sort(files)).sort((a, b) => group(a) - group(b) || rank(a) - rank(b));
  }
}
