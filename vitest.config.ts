import { defineConfig } from "vitest/config";

/** Fast projects first: `unit` needs nothing, `contract` needs redis-server, the rest start real servers. */
export default defineConfig({
  test: {
    globals: false,
    projects: [
      {
        test: {
          name: "unit",
          setupFiles: ["test/support/property_seed.ts"],
          include: ["src/**/*.test.ts", "tools/**/*.test.ts", "test/docs/**/*.test.ts"],
          exclude: ["**/*.property.test.ts", "node_modules/**"],
          // Generous, because a busy machine is no defect. Tests that check speed measure processor time themselves.
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: "property",
          setupFiles: ["test/support/property_seed.ts"],
          include: ["src/**/*.property.test.ts", "test/property/**/*.test.ts"],
          testTimeout: 120_000,
        },
      },
      {
        test: {
          name: "contract",
          setupFiles: ["test/support/property_seed.ts"],
          include: ["test/contract/**/*.test.ts"],
          globalSetup: ["test/support/global_setup.ts"],
          testTimeout: 60_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: "e2e",
          include: [
            "test/e2e/**/*.test.ts",
            "test/simulation/**/*.test.ts",
            "test/chaos/**/*.test.ts",
          ],
          globalSetup: ["test/support/global_setup.ts"],
          testTimeout: 300_000,
          hookTimeout: 120_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: "fuzz",
          include: ["test/fuzz/**/*.test.ts"],
          // Each kind runs its inputs in its own process; as many kinds at once as there are processors.
          maxConcurrency: 2,
        },
      },
    ],
  },
});
