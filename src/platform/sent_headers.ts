/**
 * The headers of a request line by line. `Headers` joins lines of one name with `, `, which a value may hold as well; and on
 * Deno its iterator costs three times as much as the lines.
 */

/** What the server of `node:http` puts beside a request. */
interface NodeContext {
  incoming?: { rawHeaders?: readonly string[] };
}

/** A header as it was sent. */
export type HeaderLine = readonly [name: string, value: string];

/** Where the server of Deno keeps the lines of a request: not promised, so nothing may depend on it. */
const DENO_LIST = "header list";
let denoList: symbol | undefined;

/**
 * The headers that a client sent, in their order; names in any case. Where the server under us does not tell the lines, lines
 * of one name are one.
 *
 * @param server what the server says about the request
 */
export function sentHeaders(headers: Headers, server: unknown): Iterable<HeaderLine> {
  const raw = (server as NodeContext | undefined)?.incoming?.rawHeaders;
  return raw === undefined ? denoLines(headers) ?? headers : pairsOf(raw);
}

function pairsOf(raw: readonly string[]): HeaderLine[] {
  const lines: HeaderLine[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) lines.push([raw[at] ?? "", raw[at + 1] ?? ""]);
  return lines;
}

function denoLines(headers: Headers): HeaderLine[] | undefined {
  denoList ??= Object.getOwnPropertySymbols(headers).find((one) => one.description === DENO_LIST);
  if (denoList === undefined) return undefined;
  // Deno's server fills the list when it is first needed. Of what needs it, this costs least.
  headers.getSetCookie();
  const lines = (headers as unknown as Record<symbol, unknown>)[denoList];
  return Array.isArray(lines) && lines.every(isLine) ? lines : undefined;
}

function isLine(value: unknown): value is HeaderLine {
  return Array.isArray(value) && typeof value[0] === "string" && typeof value[1] === "string";
}
