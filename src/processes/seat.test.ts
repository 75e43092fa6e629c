import { expect, test } from "vitest";
import { ManualClock } from "../../test/support/manual_clock.ts";
import type { ToParent, ToProcess } from "./messages.ts";
import { Seat, seatText } from "./seat.ts";

function seatWithParent(number = 2, starts = 0) {
  const said: ToParent[] = [];
  let tell: (message: ToProcess) => void = () => {};
  let close = () => {};
  const clock = new ManualClock();
  const seat = new Seat(seatText(number, starts, "/tmp/x"), {
    send: (message) => void said.push(message),
    onMessage: (hear) => tell = hear,
    onClose: (hear) => close = hear,
    close: () => {},
  }, clock);
  return { seat, said, clock, tell: (message: ToProcess) => tell(message), close: () => close() };
}

test("a seat knows its number, and whether it replaces another process", () => {
  expect(seatWithParent(3, 0).seat).toMatchObject({ number: 3, isReplacement: false });
  expect(seatWithParent(3, 2).seat).toMatchObject({ number: 3, isReplacement: true });
});

test("a process that its parent left is told to end", () => {
  const { seat, close } = seatWithParent();
  expect(seat.left.aborted).toBe(false);
  close();
  expect(seat.left.aborted).toBe(true);
});

test("the parent is told when the process serves, and gets its metrics when it asks", () => {
  const { seat, said, tell } = seatWithParent();
  seat.showMetrics(() => "own 1\n");
  seat.ready();
  tell({ type: "ask-page", id: 5 });
  tell({ type: "ping" });
  expect(said)
    .toEqual([{ type: "ready" }, { type: "page", id: 5, text: "own 1\n" }, { type: "pong" }]);
});

test("metrics of all processes come from the parent", async () => {
  const { seat, said, tell } = seatWithParent();
  const first = seat.metricsPage();
  const second = seat.metricsPage();
  expect(said).toEqual([{ type: "ask-metrics", id: 1 }, { type: "ask-metrics", id: 2 }]);
  tell({ type: "metrics", id: 2, text: "second" });
  tell({ type: "metrics", id: 1, text: "first" });
  expect(await Promise.all([first, second])).toEqual(["first", "second"]);
});

test("a process whose parent says nothing shows its own metrics", async () => {
  const { seat, clock } = seatWithParent();
  seat.showMetrics(() => "# HELP m x\n# TYPE m gauge\nm 1\n");
  const page = seat.metricsPage();
  await clock.advance(2_000);
  expect(await page).toContain('m{sluice_process="2"} 1');
});

test("a process hears which of the others has ended", () => {
  const { seat, tell } = seatWithParent();
  const gone: string[] = [];
  // Before anybody listens, nobody needs to know.
  tell({ type: "gone", name: "early" });
  seat.link.onGone((name) => void gone.push(name));
  tell({ type: "gone", name: "host-7" });
  expect(gone).toEqual(["host-7"]);
});

test("a process hears when all are ready", async () => {
  const { seat, tell } = seatWithParent();
  let heard = false;
  void seat.allReady.then(() => heard = true);
  await Promise.resolve();
  expect(heard).toBe(false);
  tell({ type: "all-ready" });
  await seat.allReady;
  expect(heard).toBe(true);
});
