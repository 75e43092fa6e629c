/**
 * The life of a workflow, pair by pair: every state with every request and every report. One table, written by hand, is
 * compared with the engine's chart, with XState's machine of it, and with every chart that has one wrong arrow.
 */
import { describe, expect, test } from "vitest";
import { getNextSnapshot } from "xstate";
import type { ControlRequest } from "../../engine/command.ts";
import { arrowAt } from "../../engine/life/life.ts";
import {
  type Arrow,
  type Circumstances,
  type GuardName,
  GUARDS,
  LIFE,
  LIFE_STATES,
  type LifeEvent,
  type LifeState,
  REFUSALS,
  REPORTS,
  type Statechart,
  VERBS,
} from "../../engine/life/statechart.ts";
import { machineOf, workflowMachine } from "./machine.ts";

/** What happens, and what is known about the workflow besides its state. */
interface Happening {
  event: LifeEvent;
  about?: Partial<Circumstances>;
}

const held = { isHeld: true };
const labelled = { isLabelledCompleted: true };
const step = { nodeFieldSelector: "displayName=a" };
const retry: ControlRequest = { type: "retry" };
const retrySteps: ControlRequest = { type: "retry", restartSuccessful: true, ...step };

const HAPPENINGS: Readonly<Record<string, Happening>> = {
  "suspend": { event: { type: "suspend" } },
  "suspend, labelled completed": { event: { type: "suspend" }, about: labelled },
  "resume": { event: { type: "resume" } },
  "resume, has not begun": { event: { type: "resume" }, about: { phase: "Pending" } },
  "resume a step": { event: { type: "resume", ...step } },
  "stop": { event: { type: "stop" } },
  "stop, labelled completed": { event: { type: "stop" }, about: labelled },
  "stop a step": { event: { type: "stop", ...step } },
  "stop a step, labelled completed": { event: { type: "stop", ...step }, about: labelled },
  "terminate": { event: { type: "terminate" } },
  "terminate, labelled completed": { event: { type: "terminate" }, about: labelled },
  "retry": { event: retry },
  "retry, held": { event: retry, about: held },
  "retry chosen steps": { event: retrySteps },
  "retry chosen steps, held": { event: retrySteps, about: held },
  "retry all that succeeded": { event: { type: "retry", restartSuccessful: true } },
  "set": { event: { type: "set", ...step } },
  "queued": { event: { type: "queued" } },
  "begun": { event: { type: "begun" } },
  "waits": { event: { type: "waits" } },
  "goesOn": { event: { type: "goesOn" } },
  "goesOn, has not begun": { event: { type: "goesOn" }, about: { phase: "Pending" } },
  "goesOn, held": { event: { type: "goesOn" }, about: held },
  "succeeded": { event: { type: "succeeded" } },
  "failed": { event: { type: "failed" } },
  "errored": { event: { type: "errored" } },
  "putAside": { event: { type: "putAside" } },
};

/**
 * Where each state leads. `=`: to itself. `·`: a report without effect. `!`: refused. `!s` and `!d`: completed workflows are not
 * suspended or shut down; `!r`: no retry before the end; `!c`: only with chosen steps; `!a`: it was put aside.
 */
const TABLE = `
                                | pending     | running     | suspended   | stopping    | terminating | succeeded | failed    | error     | aside
suspend                         | suspended   | suspended   | =           | =           | =           | !s        | !s        | !s        | !a
suspend, labelled completed     | !s          | !s          | !s          | !s          | !s          | !s        | !s        | !s        | !a
resume                          | =           | =           | running     | =           | =           | =         | =         | =         | !a
resume, has not begun           | =           | =           | pending     | =           | =           | =         | =         | =         | !a
resume a step                   | =           | =           | =           | =           | =           | =         | =         | =         | !a
stop                            | stopping    | stopping    | stopping    | =           | stopping    | !d        | !d        | !d        | !a
stop, labelled completed        | !d          | !d          | !d          | !d          | !d          | !d        | !d        | !d        | !a
stop a step                     | =           | =           | =           | =           | =           | =         | =         | =         | !a
stop a step, labelled completed | =           | =           | =           | =           | =           | =         | =         | =         | !a
terminate                       | terminating | terminating | terminating | terminating | =           | !d        | !d        | !d        | !a
terminate, labelled completed   | !d          | !d          | !d          | !d          | !d          | !d        | !d        | !d        | !a
retry                           | !r          | !r          | !r          | !r          | !r          | !c        | pending   | pending   | !a
retry, held                     | !r          | !r          | !r          | !r          | !r          | !c        | suspended | suspended | !a
retry chosen steps              | !r          | !r          | !r          | !r          | !r          | pending   | pending   | pending   | !a
retry chosen steps, held        | !r          | !r          | !r          | !r          | !r          | suspended | suspended | suspended | !a
retry all that succeeded        | !r          | !r          | !r          | !r          | !r          | !c        | pending   | pending   | !a
set                             | =           | =           | =           | =           | =           | =         | =         | =         | !a
queued                          | =           | pending     | =           | ·           | ·           | ·         | ·         | ·         | ·
begun                           | running     | ·           | =           | =           | =           | ·         | ·         | ·         | ·
waits                           | ·           | suspended   | ·           | ·           | ·           | ·         | ·         | ·         | ·
goesOn                          | ·           | ·           | running     | ·           | ·           | ·         | ·         | ·         | ·
goesOn, has not begun           | ·           | ·           | ·           | ·           | ·           | ·         | ·         | ·         | ·
goesOn, held                    | ·           | ·           | =           | ·           | ·           | ·         | ·         | ·         | ·
succeeded                       | succeeded   | succeeded   | succeeded   | succeeded   | succeeded   | ·         | ·         | ·         | ·
failed                          | failed      | failed      | failed      | failed      | failed      | ·         | ·         | ·         | ·
errored                         | error       | error       | error       | error       | error       | ·         | ·         | ·         | ·
putAside                        | aside       | aside       | aside       | aside       | aside       | aside     | aside     | aside     | ·
`;

const MARKS: Readonly<Record<string, string>> = {
  "!s": REFUSALS.suspendCompleted.text,
  "!d": REFUSALS.shutDownCompleted.text,
  "!r": REFUSALS.retryBeforeEnd.text,
  "!c": REFUSALS.retrySucceeded.text,
  "!a": REFUSALS.aside.text,
  "·": "no effect",
};

/** One cell of the table. Expected is a state, the text of a refusal, or "no effect". */
interface Pair {
  life: LifeState;
  happening: string;
  expected: string;
}

function readTable(): Pair[] {
  const [head = [], ...rows] = TABLE.trim().split("\n").map((line) =>
    line.split("|").map((cell) => cell.trim())
  );
  const states = head.filter((name) => name !== "") as LifeState[];
  return rows.flatMap(([happening = "", ...cells]) =>
    cells.map((cell, at) => {
      const life = states[at] as LifeState;
      return { life, happening, expected: cell === "=" ? life : MARKS[cell] ?? cell };
    })
  );
}

const PAIRS = readTable();

/** What is known about a workflow in a state, unless the happening says something else. */
function circumstancesIn(life: LifeState, about: Partial<Circumstances> = {}): Circumstances {
  const phase = LIFE.states[life].meta.phases.at(-1) ?? "";
  return { phase, isHeld: false, isLabelledCompleted: false, ...about };
}

function outcomeOf(arrow: Arrow | undefined): string {
  if (arrow === undefined) return "no effect";
  return arrow.target ?? REFUSALS[arrow.meta?.refusal ?? "aside"].text;
}

function inChart(chart: Statechart, { life, happening }: Pair): string {
  const { event, about } = HAPPENINGS[happening] as Happening;
  return outcomeOf(arrowAt(life, event, circumstancesIn(life, about), chart));
}

/** Pairs for which a chart differs from the table. */
function wrongPairs(chart: Statechart): Pair[] {
  return PAIRS.filter((pair) => inChart(chart, pair) !== pair.expected);
}

test("the table has every state, and every verb and report", () => {
  expect(PAIRS).toHaveLength(LIFE_STATES.length * Object.keys(HAPPENINGS).length);
  expect(new Set(PAIRS.map(({ life }) => life))).toEqual(new Set(LIFE_STATES));
  expect(new Set(PAIRS.map(({ happening }) => happening))).toEqual(
    new Set(Object.keys(HAPPENINGS)),
  );
  const events = Object.values(HAPPENINGS).map(({ event }) => event.type);
  expect(new Set(events)).toEqual(new Set([...VERBS, ...REPORTS]));
});

test.each(PAIRS)("$life, $happening: $expected", (pair) => {
  expect(inChart(LIFE, pair)).toBe(pair.expected);
});

test("XState's machine goes where the table says, and refuses what it refuses", () => {
  for (const { life, happening, expected } of PAIRS) {
    const { event, about } = HAPPENINGS[happening] as Happening;
    const snapshot = workflowMachine.resolveState({
      value: life,
      context: circumstancesIn(life, about),
    });
    const isTaken = (LIFE_STATES as readonly string[]).includes(expected);
    expect([life, happening, snapshot.can(event)]).toEqual([life, happening, isTaken]);
    const { value } = getNextSnapshot(workflowMachine, snapshot, event);
    expect([life, happening, value]).toEqual([life, happening, isTaken ? expected : life]);
  }
});

describe("a chart with one arrow wrong is noticed", () => {
  /** The chart with other arrows for an event of a state. */
  function withArrows(life: LifeState, event: string, arrows: readonly Arrow[]): Statechart {
    const { meta, on } = LIFE.states[life];
    return {
      ...LIFE,
      states: { ...LIFE.states, [life]: { meta, on: { ...on, [event]: arrows } } },
    };
  }

  /** Wrong forms of an arrow: missing, without its guard, with another, to another state, refusing, with another text. */
  function* wrongForms(arrow: Arrow): Generator<[string, Arrow | undefined]> {
    yield ["missing", undefined];
    const { guard: _guard, ...always } = arrow;
    if (arrow.guard !== undefined) {
      yield ["without its guard", always];
      for (const guard of Object.keys(GUARDS) as GuardName[]) {
        if (guard !== arrow.guard) yield [`when ${guard}`, { ...always, guard }];
      }
    }
    const base = arrow.guard === undefined ? {} : { guard: arrow.guard };
    for (const target of LIFE_STATES) {
      if (target !== arrow.target) yield [`to ${target}`, { ...base, target }];
    }
    for (const refusal of Object.keys(REFUSALS) as (keyof typeof REFUSALS)[]) {
      if (refusal !== arrow.meta?.refusal) {
        yield [`refuses: ${refusal}`, { ...base, meta: { refusal } }];
      }
    }
  }

  function* mutants(life: LifeState): Generator<[string, Statechart]> {
    for (const [event, arrows] of Object.entries(LIFE.states[life].on)) {
      for (const [at, arrow] of arrows.entries()) {
        for (const [what, wrong] of wrongForms(arrow)) {
          const changed = wrong === undefined ? arrows.toSpliced(at, 1) : arrows.with(at, wrong);
          yield [`${event}, arrow ${at} ${what}`, withArrows(life, event, changed)];
        }
      }
    }
  }

  test.each(LIFE_STATES)("of %s", (life) => {
    const unnoticed: string[] = [];
    let count = 0;
    for (const [what, chart] of mutants(life)) {
      count++;
      if (wrongPairs(chart).length === 0) unnoticed.push(what);
    }
    expect(unnoticed).toEqual([]);
    expect(count).toBeGreaterThan(50);
  });

  test.each(LIFE_STATES)("an arrow too many of %s", (life) => {
    const unnoticed: string[] = [];
    for (const event of REPORTS) {
      if (LIFE.states[life].on[event] !== undefined) continue;
      for (const target of LIFE_STATES) {
        const chart = withArrows(life, event, [{ target }]);
        if (wrongPairs(chart).length === 0) unnoticed.push(`${event} to ${target}`);
      }
    }
    expect(unnoticed).toEqual([]);
  });

  test("in XState's machine, too", () => {
    const chart = withArrows("running", "suspend", [{ target: "stopping" }]);
    const machine = machineOf(chart);
    const snapshot = machine.resolveState({
      value: "running",
      context: circumstancesIn("running"),
    });
    expect(getNextSnapshot(machine, snapshot, { type: "suspend" }).value).toBe("stopping");
  });
});
