/** Says where a text stops being JSON. JSON.parse often shows only what is around it, or a position that nobody can count to. */

const LITERAL = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;

/**
 * The first mistake of a text that JSON.parse refuses, with its line and column.
 * @param text nests no deeper than what is read
 */
export function jsonFault(text: string): string {
  const reader = new FaultReader(text);
  const expected = reader.value() ?? "nothing more";
  return `${placeOf(text, reader.at)}: expected ${expected}, found ${foundAt(text, reader.at)}`;
}

function placeOf(text: string, at: number): string {
  let line = 1;
  let start = 0;
  for (let end = text.indexOf("\n"); end >= 0 && end < at; end = text.indexOf("\n", start)) {
    line++;
    start = end + 1;
  }
  return `line ${line}, column ${at - start + 1}`;
}

function foundAt(text: string, at: number): string {
  const char = text.codePointAt(at);
  return char === undefined ? "the end" : JSON.stringify(String.fromCodePoint(char));
}

function isEscape(text: string, at: number): boolean {
  const letter = text[at + 1] ?? "none";
  return '"\\/bfnrt'.includes(letter) ||
    (letter === "u" && /^[0-9a-fA-F]{4}$/.test(text.slice(at + 2, at + 6)));
}

/** Each of its methods returns what it expected and did not find; undefined when it has read all of it. */
class FaultReader {
  readonly #text: string;
  at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): string | undefined {
    this.#skipBlanks();
    switch (this.#text.charAt(this.at)) {
      case "{":
        return this.#list("}", () => this.#member());
      case "[":
        return this.#list("]", () => this.value());
      case '"':
        return this.#string();
    }
    return this.#take(LITERAL) ? undefined : "a value";
  }

  #list(end: string, one: () => string | undefined): string | undefined {
    this.at++;
    if (this.#takeMark(end)) return undefined;
    do {
      const fault = one();
      if (fault !== undefined) return fault;
    } while (this.#takeMark(","));
    return this.#takeMark(end) ? undefined : `"," or "${end}"`;
  }

  #member(): string | undefined {
    this.#skipBlanks();
    if (this.#text.charAt(this.at) !== '"') return "a name in double quotes";
    return this.#string() ?? (this.#takeMark(":") ? this.value() : '":"');
  }

  // By character codes: a text may have millions of escapes.
  #string(): string | undefined {
    const text = this.#text;
    for (this.at++;; this.at++) {
      const code = text.charCodeAt(this.at);
      if (code === 0x22) {
        this.at++;
        return undefined;
      }
      if (code === 0x5c) {
        if (!isEscape(text, this.at)) return "an escape of JSON";
        this.at++;
      } else if (!(code >= 0x20)) {
        return "the rest of a text, in which line breaks and the like are escaped";
      }
    }
  }

  #skipBlanks(): void {
    while (" \t\r\n".includes(this.#text[this.at] ?? "none")) this.at++;
  }

  #takeMark(mark: string): boolean {
    this.#skipBlanks();
    if (this.#text.charAt(this.at) !== mark) return false;
    this.at++;
    return true;
  }

  #take(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    if (!pattern.test(this.#text)) return false;
    this.at = pattern.lastIndex;
    return true;
  }
}
