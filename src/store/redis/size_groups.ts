/** Reads of many texts, a few at a time: Redis holds a whole reply in memory until it is taken, and so does the server. */
import { listOf } from "./replies.ts";

/** How many are read first, when nobody knows how large they are. */
const FIRST = 8;
/** Characters that are read together, roughly. */
const GROUP_SIZE = 2 ** 20;

/**
 * Reads things in groups that are smaller the larger the things before them were.
 *
 * @param read reads a group; a reply for each
 * @param isWhole tells whether a group is to be read before another thing comes into it
 */
export async function* inSizeGroups<T, Reply>(
  things: readonly T[],
  read: (group: T[]) => Promise<Reply[]>,
  isWhole: (group: readonly T[], next: T) => boolean = () => false,
): AsyncGenerator<Reply> {
  let most = FIRST;
  for (let at = 0; at < things.length;) {
    const group: T[] = [];
    for (const one of things.slice(at, at + most)) {
      if (group.length > 0 && isWhole(group, one)) break;
      group.push(one);
    }
    at += group.length;
    const replies = await read(group);
    const size = replies.reduce<number>((sum, reply) => sum + sizeOf(reply), 0);
    most = Math.max(1, Math.floor(GROUP_SIZE * group.length / Math.max(1, size)));
    yield* replies;
  }
}

/** Characters of a text, or of the texts in a list. */
function sizeOf(reply: unknown): number {
  if (typeof reply === "string") return reply.length;
  if (!Array.isArray(reply)) return 0;
  return listOf(reply).reduce<number>(
    (sum, text) => sum + (typeof text === "string" ? text.length : 0),
    0,
  );
}
