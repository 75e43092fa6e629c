/** Expressions that would take for ever, everywhere that a manifest, an event or a request may hold one. */
import { call, prepare, submits } from "../support/event_ledger.ts";
import { ALWAYS, Arena, arenaRedis } from "./arena.ts";
import { type ChaosRun, type Outcome, type Scenario, wait } from "./scenario.ts";

const EVENT = "/api/v1/events/default/";
const WORKFLOWS = "/api/v1/workflows/default";
const LONG = "sprig.repeat(100000, 'a')";
/** Hostile requests per second. */
const PER_SECOND = 5;

/** Each takes seconds if nothing bounds it. */
const EXPRESSIONS = [
  `sprig.regexMatch('(a|aa|aaa|b){300}$', ${LONG})`,
  `sprig.regexMatch('((a{0,15}){0,15}){0,15}$', ${LONG})`,
  "len(map(1..100000, sprig.regexMatch('(ab|c){300}' + string(#), 'a'))) > 0",
  `reduce(1..100000, sprig.sha512sum(#acc), 'x') == ''`,
  `len(jsonpath('["' + ${LONG} + '"]', "$[?(@ =~ '(a|aa|aaa|b){300}$')]")) > 0`,
  "string(reduce(1..60, [#acc, #acc], 0)) == ''",
  "let xs = 1..1000; all(xs, {all(xs, {all(xs, true)})})",
  "len(sort(map(1..200000, string(#)))) > 0",
];

const text = (expression: string) => `string(${expression})`;

/** A workflow whose step, parameter, output or loop holds an expression. */
function workflow(expression: string, number: number): object {
  const tag = `{{=${expression}}}`;
  const main = [
    { name: "main", suspend: { duration: tag } },
    { name: "main", steps: [[{ name: "a", template: "done", when: tag }]] },
    {
      name: "main",
      steps: [[{
        name: "a",
        template: "done",
        arguments: {
          parameters: Array.from({ length: 50 }, (_, i) => ({ name: `p${i}`, value: tag })),
        },
      }]],
    },
    {
      name: "main",
      steps: [[{
        name: "a",
        template: "done",
        when: `"${"a".repeat(50_000)}" =~ "(a|aa|aaa|b){300}$"`,
      }]],
    },
    {
      name: "main",
      steps: [[{ name: "a", template: "done" }]],
      outputs: { parameters: [{ name: "o", valueFrom: { expression } }] },
    },
  ][number % 5];
  return {
    metadata: { generateName: "hostile-" },
    spec: {
      entrypoint: "main",
      templates: [main, { name: "done", suspend: { duration: "0" } }],
    },
  };
}

/** The requests of a hostile caller, in turn. */
function hostileRequest(
  url: string,
  number: number,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const expression = EXPRESSIONS[Math.floor(number / 4) % EXPRESSIONS.length] ?? "";
  switch (number % 4) {
    case 0:
      return call(url, "POST", WORKFLOWS, { workflow: workflow(expression, number >> 2) });
    case 1:
      // Selectors of bindings are evaluated for every event of their namespace.
      return call(url, "POST", `${EVENT}hostile`, { n: number });
    case 2: {
      const terms = Array.from({ length: 2_000 }, (_, i) => `k${i}!=v`).join(",");
      return call(
        url,
        "GET",
        `${WORKFLOWS}?listOptions.labelSelector=${encodeURIComponent(terms.slice(0, 9_000))}`,
      );
    }
    default: {
      const binding = {
        metadata: { name: `hostile-${number}` },
        spec: submits(
          Array.from({ length: 400 }, (_, i) => `"x" matches "(a|b){${i}0}"`).join("||"),
        ),
      };
      return call(url, "POST", "/api/v1/workflow-event-bindings/default", { binding });
    }
  }
}

/** Hostile expressions at a steady rate, through three replicas: nobody else notices, and no replica loses a shard. */
async function hostileExpressions(run: ChaosRun): Promise<Outcome> {
  const redis = await arenaRedis(run, ALWAYS);
  const arena = await Arena.start(run, redis.url, 3);
  const bindings = Object.fromEntries(
    EXPRESSIONS.slice(0, 3).map((expression, at) => [
      `hostile-selector-${at}`,
      submits(`discriminator == 'hostile' && ${text(expression)} == 'x'`),
    ]),
  );
  await prepare(arena.anyUrl(), bindings);
  const violations: string[] = [];
  const statuses: Record<string, number> = {};
  const times: number[] = [];
  const endsAt = performance.now() + run.seconds * 1_000;
  let sent = 0;
  const sending = (async () => {
    const open: Promise<void>[] = [];
    while (performance.now() < endsAt) {
      const number = sent++;
      open.push(
        hostileRequest(arena.server(number % 3).url, number).then(({ status }) => {
          statuses[status] = (statuses[status] ?? 0) + 1;
          if (status >= 500) violations.push(`hostile request ${number}: ${status}`);
        }).catch((error) => {
          violations.push(`hostile request ${number}: ${error}`);
        }),
      );
      await wait(1_000 / PER_SECOND);
    }
    await Promise.all(open);
  })();
  const clients = Array.from({ length: 3 }, async (_, client) => {
    for (let turn = 0; performance.now() < endsAt; turn++) {
      const { url } = arena.server(client);
      const startedAt = performance.now();
      const spec = { entrypoint: "main", templates: [{ name: "main", suspend: {} }] };
      const name = `other-${client}-${turn}`;
      const made = await call(url, "POST", WORKFLOWS, { workflow: { metadata: { name }, spec } });
      times.push(performance.now() - startedAt);
      if (made.status !== 200) violations.push(`${name}: ${made.status}`);
      const askedAt = performance.now();
      await call(url, "GET", `${WORKFLOWS}/${name}`);
      times.push(performance.now() - askedAt);
      await wait(50);
    }
  });
  await Promise.all([sending, ...clients]);
  const lost = [0, 1, 2].flatMap((at) =>
    arena.server(at).log.filter((line) => /shard lost|lease lost/.test(line))
  );
  for (const line of lost) violations.push(line);
  times.sort((a, b) => a - b);
  const p99 = Math.round(times[Math.floor(times.length * 0.99)] ?? 0);
  // In CI other tests run at the same time, so there the bound only detects a standstill.
  const most = run.isShort ? 2_500 : 500;
  if (p99 > most) violations.push(`the p99 of other callers is ${p99} ms`);
  return {
    violations,
    alive: { done: times.length, wanted: run.seconds * 5 },
    figures: {
      hostile: sent,
      ...statuses,
      others: times.length,
      p50: Math.round(times[times.length >> 1] ?? 0),
      p99,
      slowest: Math.round(times.at(-1) ?? 0),
    },
  };
}

export const EXPRESSION_SCENARIOS: readonly Scenario[] = [
  {
    name: "F25-hostile-expressions",
    about:
      "expressions, patterns and selectors that would take seconds, 5 a second: no shard is lost, others are answered",
    seconds: 60,
    short: 8,
    run: hostileExpressions,
  },
];
