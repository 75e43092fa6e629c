/**
 * Time of one evaluation of typical expressions: `npx -y deno@2.9.6 run -A bench/expr.ts`. Prints the best of several
 * samples, in nanoseconds.
 */

import process from "node:process";

import { compileExpr } from "../src/expr/language/compile.ts";
import { ProgramCache } from "../src/expr/language/program_cache.ts";
import type { ValueMap } from "../src/expr/values/values.ts";

const ENV: ValueMap = {
  namespace: "argo",
  discriminator: "git-push",
  metadata: { "x-event": ["push"] },
  payload: {
    action: "opened",
    n: 42,
    ref: "refs/heads/main",
    email: "Dana@Example.com",
    commits: [{ message: "fix: a", id: "c1" }, { message: "feat: b", id: "c2" }],
  },
};

const SOURCES: readonly string[] = [
  'payload.action == "opened" && metadata["x-event"] == ["push"] && payload.n > 3',
  'payload.action == "opened" && discriminator == "git-push"',
  'payload.n >= 10 and payload?.action in ["opened", "closed"]',
  'any(payload.commits, {.message startsWith "feat" and len(.id) == 2})',
  'payload.ref matches "^refs/heads/(main|release)$" and lower(payload.email) endsWith ".com"',
];

function best(run: () => unknown, rounds: number): number {
  let least = Infinity;
  for (let sample = 0; sample < 25; sample++) {
    const start = process.hrtime.bigint();
    for (let i = 0; i < rounds; i++) run();
    least = Math.min(least, Number(process.hrtime.bigint() - start) / rounds);
  }
  return least;
}

const cache = new ProgramCache(100);
for (const source of SOURCES) {
  const program = compileExpr(source, { env: ENV });
  const value = program.run(ENV);
  const run = best(() => program.run(ENV), 20_000);
  const compile = best(() => compileExpr(source, { env: ENV }), 500);
  const cached = best(() => cache.compile(source, { env: ENV }), 5_000);
  const columns = [
    `run ${run.toFixed(0)} ns`,
    `compile ${(compile / 1_000).toFixed(1)} µs`,
    `cached compile ${cached.toFixed(0)} ns`,
    `value ${value}`,
  ];
  process.stdout.write(`${source}\n  ${columns.join(", ")}\n`);
}
