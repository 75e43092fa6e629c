/** Waiting for something that happens outside the test. */

export interface UntilOptions {
  /** @default {60_000} */
  patienceMs?: number;
  /** Text of the failure. @default the source of the condition */
  otherwise?: string;
}

/**
 * Waits until a condition holds. While it rejects, it does not.
 * @throws {Error} when patience is over; its cause is why the condition rejected last
 */
export async function until(
  holds: () => unknown,
  { patienceMs = 60_000, otherwise = `Waited in vain for ${holds}` }: UntilOptions = {},
): Promise<void> {
  const endsAt = performance.now() + patienceMs;
  for (;;) {
    let cause: unknown;
    try {
      if (await holds()) return;
    } catch (error) {
      cause = error;
    }
    if (performance.now() > endsAt) throw new Error(otherwise, { cause });
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
