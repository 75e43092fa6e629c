/** Variables of the environment that look like settings and are none. */
import { CHILD_VARIABLE, CONFIG_TABLE } from "./config.ts";

const PREFIX = "SLUICE_";
/** What the command line reads, and what this program gives to its own processes. */
const OTHERS = new Set(["SLUICE_SERVER", "SLUICE_TOKEN", "SLUICE_DEBUG", CHILD_VARIABLE]);
/** What Kubernetes sets in pods beside a Service whose name begins with sluice. */
const SERVICE_LINK =
  /_(SERVICE_(HOST|PORT(_\w+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$/;

/**
 * The names in an environment that a server would have to know and does not, sorted. They are told, not refused: others may
 * use the prefix too.
 */
export function strangeVariables(env: Readonly<Record<string, string | undefined>>): string[] {
  const known = new Set(Object.values(CONFIG_TABLE).map((row) => PREFIX + row.env));
  return Object.keys(env).filter((name) =>
    name.startsWith(PREFIX) && !known.has(name) && !OTHERS.has(name) &&
    !name.startsWith("SLUICE_TEST_") && !SERVICE_LINK.test(name)
  ).sort();
}
