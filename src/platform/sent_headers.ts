/** The headers of a request line by line. `Headers` joins lines of one name with `, `, which a value may hold as well. */

/** What the server of `node:http` puts beside a request. */
interface NodeContext {
  incoming?: { rawHeaders?: readonly string[] };
}

/** Where the server of Deno keeps the lines of a request: not promised, so nothing may depend on it. */
const DENO_LIST = "header list";
let denoList: symbol | undefined;

/**
 * The values of the headers that a client sent, each line by itself: lower-case name → values in their order. Empty where the
 * server under us does not tell.
 *
 * @param headers whose entries have been looked at before: only then Deno's server has read them
 * @param server what the server says about the request
 */
export function sentHeaders(headers: Headers, server: unknown): Map<string, string[]> {
  const sent = new Map<string, string[]>();
  const add = (name: string, value: string) => {
    const key = name.toLowerCase();
    const values = sent.get(key);
    if (values === undefined) sent.set(key, [value]);
    else values.push(value);
  };
  const raw = (server as NodeContext | undefined)?.incoming?.rawHeaders;
  if (raw !== undefined) {
    for (let at = 0; at + 1 < raw.length; at += 2) add(raw[at] ?? "", raw[at + 1] ?? "");
  } else {
    for (const [name, value] of denoLines(headers)) add(name, value);
  }
  return sent;
}

function denoLines(headers: Headers): [name: string, value: string][] {
  denoList ??= Object.getOwnPropertySymbols(headers).find((one) => one.description === DENO_LIST);
  const lines = denoList && (headers as unknown as Record<symbol, unknown>)[denoList];
  return Array.isArray(lines) && lines.every(isLine) ? lines : [];
}

function isLine(value: unknown): value is [string, string] {
  return Array.isArray(value) && typeof value[0] === "string" && typeof value[1] === "string";
}
