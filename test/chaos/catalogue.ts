/** All chaos scenarios, in the order of the fault catalogue. */
import { CALLBACK_URL_SCENARIOS } from "./callback_urls.ts";
import { ARCHIVE_SCENARIOS } from "./archive.ts";
import { CLIENT_SCENARIOS } from "./clients.ts";
import { HOSTILE_SCENARIOS } from "./hostile.ts";
import { EXPLOSION_SCENARIOS } from "./explosions.ts";
import { EXPRESSION_SCENARIOS } from "./expressions.ts";
import { FAIL_OVER_SCENARIOS } from "./fail_over.ts";
import { PROCESS_SCENARIOS } from "./processes.ts";
import { REDIS_SCENARIOS } from "./redis.ts";
import { REPLICA_SCENARIOS } from "./replicas.ts";
import { TIME_SCENARIOS } from "./time.ts";
import type { Scenario } from "./scenario.ts";

const numberOf = ({ name }: Scenario) => Number(/^F(\d+)/.exec(name)?.[1] ?? 0);

export const CATALOGUE: readonly Scenario[] = [
  ...REPLICA_SCENARIOS,
  ...PROCESS_SCENARIOS,
  ...REDIS_SCENARIOS,
  ...FAIL_OVER_SCENARIOS,
  ...CLIENT_SCENARIOS,
  ...CALLBACK_URL_SCENARIOS,
  ...TIME_SCENARIOS,
  ...HOSTILE_SCENARIOS,
  ...EXPLOSION_SCENARIOS,
  ...EXPRESSION_SCENARIOS,
  ...ARCHIVE_SCENARIOS,
]
  .sort((a, b) => numberOf(a) - numberOf(b));
