import { expect, test } from "vitest";
import { ManualClock } from "../../test/support/manual_clock.ts";
import { timeLimit } from "./watch_timeout.ts";

/** A clock that knows how many timers run. */
class CountedClock extends ManualClock {
  timers = 0;

  override after(ms: number, run: () => void): () => void {
    this.timers++;
    const cancel = super.after(ms, run);
    return () => {
      this.timers--;
      cancel();
    };
  }
}

test("the signal aborts after its seconds, or with the given one; then no timer is left", async () => {
  const clock = new CountedClock();
  const gone = new AbortController();
  const limited = timeLimit(clock, gone.signal, 2);
  await clock.advance(1_999);
  expect(limited.aborted).toBe(false);
  await clock.advance(1);
  expect(limited.aborted).toBe(true);

  const other = timeLimit(clock, gone.signal, 1_000_000);
  gone.abort();
  expect(other.aborted).toBe(true);
  expect(clock.timers).toBe(0);
});

test("a watcher that is gone already leaves no timer", () => {
  const clock = new CountedClock();
  expect(timeLimit(clock, AbortSignal.abort(), 1_000_000).aborted).toBe(true);
  expect(clock.timers).toBe(0);
});
