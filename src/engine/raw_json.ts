/** JSON texts that are passed on as they were written, so that numbers keep their form. */

/** Tells whether a text is a JSON object or list. */
export function isJsonContainer(text: string): boolean {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * A JSON list of JSON texts, without blanks.
 * @throws {Error} with the reference's wording when one of them is no JSON
 */
export function listOfJsonTexts(texts: readonly string[]): string {
  return `[${texts.map((text) => (parseJson(text), compact(text))).join(",")}]`;
}

/**
 * Reads JSON.
 * @throws {Error} with the reference's wording
 */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(jsonFault(text));
  }
}

/** What is wrong with a text that is no JSON, as Go's parser says it for the usual cases. */
function jsonFault(text: string): string {
  const first = /\S/.exec(text);
  if (first === null) return "unexpected end of JSON input";
  const char = first[0];
  const quoted = char === "'" ? `'\\''` : char === '"' ? `'"'` : `'${char}'`;
  if (!/[-{["0-9tfn]/.test(char)) return `invalid character ${quoted} looking for beginning of value`;
  for (const word of ["true", "false", "null"]) {
    if (char !== word.charAt(0)) continue;
    const rest = text.slice(first.index);
    for (let at = 1; at < word.length; at++) {
      const next = rest.charAt(at);
      if (next === "") return "unexpected end of JSON input";
      if (next !== word.charAt(at)) {
        return `invalid character '${next}' in literal ${word} (expecting '${word.charAt(at)}')`;
      }
    }
    return afterTop(rest.slice(word.length));
  }
  const number = /^-?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?/.exec(text.slice(first.index));
  if (number !== null && /[-0-9]/.test(char)) return afterTop(text.slice(first.index + number[0].length));
  return "unexpected end of JSON input";
}

function afterTop(rest: string): string {
  const next = /\S/.exec(rest)?.[0];
  return next === undefined ? "unexpected end of JSON input" : `invalid character '${next}' after top-level value`;
}

const ESCAPED: Readonly<Record<string, string>> = { "<": "\\u003c", ">": "\\u003e", "&": "\\u0026" };

/** Removes blanks outside of strings and escapes what HTML would read. */
export function compact(json: string): string {
  return json.replace(/"(?:[^"\\]|\\.)*"|\s+/g, (part) => part.startsWith('"') ? part : "")
    .replace(/[<>&]/g, (char) => ESCAPED[char] ?? char);
}
