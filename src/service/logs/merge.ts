/** Lines of several pods in the order of time. */
import type { LogLine } from "../../executors/port.ts";
import { Turns } from "../../platform/turns.ts";
import type { Pod, PodLine, ReadPod } from "./pods.ts";

/** The next line of a pod. */
interface Head extends PodLine {
  /** Of lines with the same time, those of earlier pods come first. */
  order: number;
  lines: AsyncIterator<LogLine>;
}

/** Lines of several pods that have ended, oldest first. Whoever stops to read, or meets an error, leaves none of them open. */
export async function* mergeByTime(
  pods: readonly Pod[],
  read: ReadPod,
): AsyncIterable<PodLine> {
  const turns = new Turns();
  const heads: Head[] = [];
  try {
    for (const [order, pod] of pods.entries()) {
      const lines = read(pod)[Symbol.asyncIterator]();
      const next = await lines.next();
      if (next.done !== true) heads.push({ pod, order, lines, line: next.value });
      await turns.pause();
    }
    // A sorted list is a heap.
    heads.sort((a, b) => a.line.at - b.line.at || a.order - b.order);
    for (let oldest = heads[0]; oldest !== undefined; oldest = heads[0]) {
      yield { pod: oldest.pod, line: oldest.line };
      const next = await oldest.lines.next();
      if (next.done !== true) oldest.line = next.value;
      else {
        const last = heads.pop();
        if (last !== undefined && last !== oldest) heads[0] = last;
      }
      sink(heads);
      await turns.pause();
    }
  } finally {
    // What is left has a file or a connection open. What can't be closed well is closed all the same.
    await Promise.allSettled(heads.map(({ lines }) => lines.return?.()));
  }
}

function isBefore(a: Head, b: Head): boolean {
  return a.line.at < b.line.at || (a.line.at === b.line.at && a.order < b.order);
}

/** Moves the first of a heap to where it belongs. */
function sink(heads: Head[]): void {
  for (let at = 0;;) {
    const [own, left, right] = [heads[at], heads[2 * at + 1], heads[2 * at + 2]];
    if (own === undefined || left === undefined) return;
    const isRight = right !== undefined && isBefore(right, left);
    const least = isRight ? right : left;
    if (!isBefore(least, own)) return;
    const down = 2 * at + (isRight ? 2 : 1);
    heads[at] = least;
    heads[down] = own;
    at = down;
  }
}
