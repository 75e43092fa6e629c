/** Reads the answers of Redis, which have no types. */

/** A list of texts; missing values are undefined. */
export function textsOf(reply: unknown): (string | undefined)[] {
  return listOf(reply).map((value) => value === null ? undefined : String(value));
}

/** A list, empty for nil. */
export function listOf(reply: unknown): unknown[] {
  return Array.isArray(reply) ? reply : [];
}

/** Pairs of a flat list. */
export function pairsOf(reply: unknown): [string, string][] {
  const texts = textsOf(reply);
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < texts.length; at += 2) {
    pairs.push([texts[at] ?? "", texts[at + 1] ?? ""]);
  }
  return pairs;
}

/** Entries of a stream: id and fields. */
export function streamEntriesOf(reply: unknown): { id: string; fields: Record<string, string> }[] {
  return listOf(reply).map((entry) => {
    const [id, fields] = listOf(entry);
    return { id: String(id), fields: Object.fromEntries(pairsOf(fields)) };
  });
}
