/** Waiting for something that happens outside the test. */

export interface UntilOptions {
  /** @default {60_000} */
  patienceMs?: number;
  /** Text of the failure. @default the source of the condition */
  otherwise?: string | (() => string);
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
    if (performance.now() > endsAt) {
      throw new Error(typeof otherwise === "string" ? otherwise : otherwise(), { cause });
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Waits until a server answers at an address, with success. @throws {Error} when patience is over */
export async function untilAnswered(url: string, options: UntilOptions = {}): Promise<void> {
  const isAnswered = async () => {
    const answer = await fetch(url);
    await answer.body?.cancel();
    return answer.ok;
  };
  await until(isAnswered, { otherwise: `Nothing answers at ${url}`, ...options });
}
