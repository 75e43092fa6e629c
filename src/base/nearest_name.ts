/** Finds the known name that a misspelled one was probably meant to be. */

/** Longer names are not compared: the cost is their length times the length of each known name. */
const MAX_LENGTH = 64;
/** Share of letters that may differ. */
const MAX_DIFFERENCE = 0.4;

/**
 * The known name that was probably meant: one that contains the given name or is contained in it, or the one with the
 * fewest differences, if fewer than two fifths of its letters differ. Case, `-`, `_` and `.` are ignored.
 */
export function nearestName(name: string, known: Iterable<string>): string | undefined {
  if (name.length > MAX_LENGTH) return undefined;
  const wanted = plain(name);
  if (wanted === "") return undefined;
  let nearest: string | undefined;
  let least = Infinity;
  for (const one of known) {
    const other = plain(one);
    const length = Math.max(wanted.length, other.length);
    const isPart = Math.min(wanted.length, other.length) >= 3 &&
      (other.includes(wanted) || wanted.includes(other));
    const share = editDistance(wanted, other) / length;
    const score = isPart ? Math.min(share, MAX_DIFFERENCE) : share;
    if (score <= MAX_DIFFERENCE && score < least) [nearest, least] = [one, score];
  }
  return nearest;
}

function plain(name: string): string {
  return name.toLowerCase().replace(/[-_.]/g, "");
}

/** How many letters must be inserted, removed, replaced, or swapped with the next, to make one text of the other. */
function editDistance(a: string, b: string): number {
  let beforeThat: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const replaced = (above[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
      const isSwap = row > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      const swapped = isSwap ? (beforeThat[column - 2] ?? 0) + 1 : Infinity;
      const added = (current[column - 1] ?? 0) + 1;
      current.push(Math.min(replaced, swapped, (above[column] ?? 0) + 1, added));
    }
    [beforeThat, above] = [above, current];
  }
  return above[b.length] ?? 0;
}
