/**
 * How large the program of a regular expression becomes, told from its text before it is compiled. Repeats with a count
 * copy what they repeat, so a short pattern can stand for millions of instructions.
 */

/** What compiling a pattern takes, at most. */
export interface RegexSize {
  /** Instructions of the program. */
  readonly instructions: number;
  /** Steps that compiling costs (see `STEP_BUDGET`). */
  readonly steps: number;
}

/** Steps for each character of a pattern, for each instruction, and for each class such as `\pL`. */
const STEPS_PER_CHARACTER = 40;
const STEPS_PER_INSTRUCTION = 20;
const STEPS_PER_CLASS = 1_000;
/** Where case does not count, each letter of a range is looked up. */
const STEPS_PER_FOLDED_LETTER = 0.5;
/** Letters with a case end here. */
const LAST_CASED_LETTER = 0x1e943;

const REPEAT = /\{(\d{1,9})(?:(,)(\d{0,9}))?\}/y;

/** Estimates a pattern. A wrong pattern gives some number as well. */
export function regexSize(pattern: string): RegexSize {
  const folds = /\(\?[a-zA-Z-]*i/.test(pattern);
  // Of each open group what is in it so far; `last` is the part that a repeat behind it would copy.
  const open: number[] = [];
  let total = 0;
  let last = 0;
  let extra = 0;
  let at = 0;
  const add = (size: number) => {
    total += size;
    last = size;
  };
  const repeat = (times: number, more: number) => {
    const size = last * times + more;
    total += size - last;
    last = size;
  };
  while (at < pattern.length) {
    const char = pattern.charAt(at);
    switch (char) {
      case "\\":
        at = readEscape(at);
        break;
      case "[":
        at = readClass(at);
        break;
      case "(":
        open.push(total);
        total = 0;
        last = 0;
        at += 1;
        break;
      case ")": {
        const size = total + 2;
        total = open.pop() ?? 0;
        add(size);
        at += 1;
        break;
      }
      case "*":
      case "+":
      case "?":
        repeat(1, 1);
        at += 1;
        break;
      case "{": {
        REPEAT.lastIndex = at;
        const found = REPEAT.exec(pattern);
        if (found === null) {
          add(1);
          at += 1;
          break;
        }
        const [all, least = "0", comma, most = ""] = found;
        const times = Math.max(Number(least), Number(most), 1);
        repeat(
          times + (comma !== undefined && most === "" ? 1 : 0),
          comma === undefined ? 0 : times,
        );
        at += all.length;
        break;
      }
      case "|":
        // A branch may be empty.
        add(2);
        at += 1;
        break;
      default:
        add(1);
        at += 1;
    }
    if (total > Number.MAX_SAFE_INTEGER / 1e12) break;
  }
  for (const size of open) total += size + 2;
  const instructions = total + 2;
  return {
    instructions,
    steps: Math.ceil(
      pattern.length * STEPS_PER_CHARACTER + instructions * STEPS_PER_INSTRUCTION + extra,
    ),
  };

  /** Reads a backslash and what belongs to it; `\Q…\E` is literal text. */
  function readEscape(from: number): number {
    const next = pattern.charAt(from + 1);
    if (next === "Q") {
      const end = pattern.indexOf("\\E", from + 2);
      const literal = (end < 0 ? pattern.length : end) - from - 2;
      total += Math.max(literal - 1, 0);
      add(Math.min(literal, 1));
      return end < 0 ? pattern.length : end + 2;
    }
    add(1);
    if (next === "p" || next === "P") extra += STEPS_PER_CLASS * (folds ? 2 : 1);
    if (pattern.charAt(from + 2) === "{" && /[pPx]/.test(next)) {
      const end = pattern.indexOf("}", from);
      return end < 0 ? pattern.length : end + 1;
    }
    return from + 2;
  }

  /** Reads a class in brackets; it is one instruction. */
  function readClass(from: number): number {
    let end = from + 1;
    if (pattern.charAt(end) === "^") end++;
    if (pattern.charAt(end) === "]") end++;
    while (end < pattern.length && pattern.charAt(end) !== "]") {
      if (pattern.startsWith("[:", end)) {
        const close = pattern.indexOf(":]", end + 2);
        end = close < 0 ? end + 1 : close + 2;
        continue;
      }
      if (pattern.charAt(end) === "\\") {
        if (/[pP]/.test(pattern.charAt(end + 1))) extra += STEPS_PER_CLASS * (folds ? 2 : 1);
        end += 2;
      } else {
        if (folds && pattern.charAt(end) === "-") extra += foldedRange(end);
        end++;
      }
    }
    add(1);
    return end + 1;
  }

  /** Steps of a range in a class whose letters are looked up, from the `-` in it. */
  function foldedRange(dash: number): number {
    const to = pattern.codePointAt(dash + 1) ?? 0;
    const from = pattern.charAt(dash - 1);
    // An escape may stand for any letter.
    const last = to === 0x5c ? LAST_CASED_LETTER : Math.min(to, LAST_CASED_LETTER);
    const first = /[\w}]/.test(from) && pattern.charAt(dash - 2) !== "\\" && from !== "}"
      ? from.charCodeAt(0)
      : 0;
    return Math.max(0, last - first) * STEPS_PER_FOLDED_LETTER;
  }
}
