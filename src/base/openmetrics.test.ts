import { expect, test } from "vitest";
import { exemplarText, openMetrics, prefersOpenMetrics, withoutExemplars } from "./openmetrics.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SEEN = exemplarText({ traceId: TRACE, value: 0.3, at: 1_700_000_000_123 });
const PAGE = `# HELP a_total Things "so far"
# TYPE a_total counter
a_total{x="1"} 3${SEEN}
# HELP b Counts without the usual name
# TYPE b counter
b 1${SEEN}
# HELP c_seconds Times
# TYPE c_seconds histogram
c_seconds_bucket{le="1"} 1${SEEN}
c_seconds_bucket{le="+Inf"} 1
c_seconds_sum 0.3
c_seconds_count 1
# HELP d A gauge
# TYPE d gauge
d{text=" # {trace_id=\\"${TRACE}\\"} 1 1"} 7
`;

test("openMetrics() names counters as that form does, keeps exemplars where they may stand, and ends the page", () => {
  expect(openMetrics(PAGE)).toBe(`# HELP a Things \\"so far\\"
# TYPE a counter
a_total{x="1"} 3 # {trace_id="${TRACE}"} 0.3 1700000000.123
# HELP b Counts without the usual name
# TYPE b unknown
b 1
# HELP c_seconds Times
# TYPE c_seconds histogram
c_seconds_bucket{le="1"} 1 # {trace_id="${TRACE}"} 0.3 1700000000.123
c_seconds_bucket{le="+Inf"} 1
c_seconds_sum 0.3
c_seconds_count 1
# HELP d A gauge
# TYPE d gauge
d{text=" # {trace_id=\\"${TRACE}\\"} 1 1"} 7
# EOF
`);
});

test("openMetrics() leaves a counter its name if another metric has the shorter one", () => {
  const page =
    "# HELP x Now\n# TYPE x gauge\nx 1\n# HELP x_total All\n# TYPE x_total counter\nx_total 2\n";
  expect(openMetrics(page)).toContain("# HELP x_total All\n# TYPE x_total unknown\nx_total 2\n");
});

test("withoutExemplars() gives the older form, and touches no label that looks like one", () => {
  expect(withoutExemplars(PAGE)).toBe(PAGE.replaceAll(SEEN, ""));
});

test.each([
  [null, false],
  ["*/*", false],
  ["text/plain", false],
  ["application/openmetrics-text", true],
  [
    "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
    true,
  ],
  ["text/plain;version=0.0.4;q=0.9,application/openmetrics-text;version=1.0.0;q=0.2", false],
  ["application/openmetrics-text;version=0.0.1", false],
  ["application/openmetrics-text;q=0", false],
])("prefersOpenMetrics(%j) is %j", (accept, wanted) => {
  expect(prefersOpenMetrics(accept)).toBe(wanted);
});
