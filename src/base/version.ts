/**
 * The version of this program. A constant, because `package.json` is not beside the modules wherever they run; a test
 * compares it with `package.json`, `deno.json` and the chart.
 */
export const VERSION = "0.1.0";
