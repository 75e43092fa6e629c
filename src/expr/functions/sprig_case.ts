/** `snakecase`, `kebabcase` and `camelcase` of sprig: words are separated by case, digits and connectors. */
import { toLower, toUpper } from "./builtins_text.ts";

type WordKind = "number" | "upper" | "letters" | "connector" | "punctuation" | "other";
type CharKind = WordKind;

interface Word {
  kind: WordKind;
  text: string;
}

const PUNCTUATION = /^\p{P}$/u;
const KINDS: readonly [CharKind, RegExp][] = [
  ["connector", /^[-_\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]$/],
  ["punctuation", PUNCTUATION],
  ["upper", /^\p{Lu}$/u],
  // Han characters are none; Kana and Hangul are.
  ["letters", /^(?![\u3400-\u4d85\u4e00-\u9fcc\u{20000}-\u{2b81d}])\p{L}$/u],
  ["number", /^\p{N}$/u],
];

function kindOf(char: string | undefined): CharKind | undefined {
  if (char === undefined) return undefined;
  return KINDS.find(([, pattern]) => pattern.test(char))?.[0] ?? "other";
}

/** Splits a text into words; `HTTPServer` is `HTTP` and `Server`. */
function wordsOf(text: string): Word[] {
  const chars = [...text];
  const words: Word[] = [];
  let at = 0;
  while (at < chars.length) {
    const kind = kindOf(chars[at]) as CharKind;
    let end = at + 1;
    const takeWhile = (wanted: CharKind) => {
      while (kindOf(chars[end]) === wanted) end++;
    };
    if (kind === "punctuation") {
      // What begins with another sign may go on with hyphens and underscores, which are then none of the connectors.
      while (PUNCTUATION.test(chars[end] ?? "")) end++;
    } else takeWhile(kind);
    if (kind === "upper") {
      if (end === at + 1) takeWhile("letters");
      else if (kindOf(chars[end]) === "letters") end--;
    }
    words.push({ kind, text: chars.slice(at, end).join("") });
    at = end;
  }
  return words;
}

/** Lower-cased words joined with a connector: `HTTPServer v2` is `http_server_v2`. */
export function camelWords(text: string, connector: string): string {
  const words = wordsOf(text);
  const isPart = (word: Word | undefined) => word?.kind === "letters" || word?.kind === "number";
  const needsConnector = (word: Word | undefined) =>
    word !== undefined && word.kind !== "connector" && word.kind !== "punctuation";
  let result = "";
  let at = 0;
  const write = (word: Word) => {
    if (word.kind === "connector") result += connector.repeat([...word.text].length);
    else result += word.kind === "upper" ? word.text.replace(/\p{Lu}+/gu, toLower) : word.text;
  };
  /** Writes what belongs to a number (`2m3s`), and a connector if another word follows. */
  const writeNumber = () => {
    while (isPart(words[at])) write(words[at++] as Word);
    if (needsConnector(words[at])) result += connector;
  };
  while (at < words.length) {
    const word = words[at++] as Word;
    write(word);
    const next = words[at];
    if (word.kind === "connector" || word.kind === "punctuation" || next === undefined) continue;
    if (word.kind === "number") writeNumber();
    else if (next.kind !== "number") {
      if (needsConnector(next)) result += connector;
    } else if (words[at + 1]?.kind === "letters") {
      result += connector;
      writeNumber();
    } else {
      write(next);
      at++;
      if (needsConnector(words[at])) result += connector;
    }
  }
  return result;
}

/**
 * Words without connectors, each with a capital letter: `http_server` is `HttpServer`. Connectors at the beginning and
 * the end stay, and so do all but the last of several in a row.
 */
export function pascalCase(text: string): string {
  const isConnector = (char: string | undefined) => kindOf(char) === "connector";
  const chars = [...text];
  let at = 0;
  let result = "";
  while (isConnector(chars[at]) && at < chars.length) result += chars[at++];
  while (at < chars.length) {
    const first = chars[at++] as string;
    let isCapitals = kindOf(first) === "upper";
    result += toUpper(first);
    while (at < chars.length && !isConnector(chars[at])) {
      const char = chars[at++] as string;
      const isUpper = kindOf(char) === "upper";
      result += isCapitals && isUpper ? toLower(char) : char;
      if (!isUpper) isCapitals = false;
    }
    let row = "";
    while (isConnector(chars[at]) && at < chars.length) row += chars[at++];
    result += at < chars.length ? row.slice(0, -1) : row;
  }
  return result;
}
