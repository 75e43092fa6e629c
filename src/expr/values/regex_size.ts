/**
 * Estimates, before compiling, how large the program of a regular expression becomes. Repeats with a count copy what
 * they repeat, so a short pattern can mean millions of instructions.
 */

/** The most that compiling a pattern takes. */
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
/** If case is ignored, each letter of a range is looked up. */
const STEPS_PER_FOLDED_LETTER = 0.5;
/** The last letter that has a case. */
const LAST_CASED_LETTER = 0x1e943;

/** Reading ends when the size is far beyond the limit. */
const LARGEST_TOTAL = Number.MAX_SAFE_INTEGER / 1e12;

const REPEAT = /\{(\d{1,9})(?:(,)(\d{0,9}))?\}/y;

/** Estimates a pattern. An invalid pattern also gives some number. */
export function regexSize(pattern: string): RegexSize {
  const { instructions, extra } = new SizeReader(pattern).read();
  const steps = pattern.length * STEPS_PER_CHARACTER + instructions * STEPS_PER_INSTRUCTION + extra;
  return { instructions, steps: Math.ceil(steps) };
}

class SizeReader {
  readonly #pattern: string;
  /** The pattern ignores case. */
  readonly #folds: boolean;
  /** For each open group, the instructions before it. */
  readonly #open: number[] = [];
  /** Instructions so far, of the innermost open group. */
  #total = 0;
  /** Instructions of the part that a following repeat would copy. */
  #last = 0;
  #extra = 0;
  #at = 0;

  constructor(pattern: string) {
    this.#pattern = pattern;
    this.#folds = /\(\?[a-zA-Z-]*i/.test(pattern);
  }

  /** @returns the instructions, and steps of compiling that depend neither on their number nor on the characters */
  read(): { instructions: number; extra: number } {
    while (this.#at < this.#pattern.length && this.#total <= LARGEST_TOTAL) this.#readPart();
    for (const size of this.#open) this.#total += size + 2;
    return { instructions: this.#total + 2, extra: this.#extra };
  }

  #readPart(): void {
    switch (this.#pattern.charAt(this.#at)) {
      case "\\":
        this.#at = this.#readEscape(this.#at);
        break;
      case "[":
        this.#at = this.#readClass(this.#at);
        break;
      case "(":
        this.#open.push(this.#total);
        this.#total = 0;
        this.#last = 0;
        this.#at++;
        break;
      case ")": {
        const size = this.#total + 2;
        this.#total = this.#open.pop() ?? 0;
        this.#add(size);
        this.#at++;
        break;
      }
      case "*":
      case "+":
      case "?":
        this.#repeat(1, 1);
        this.#at++;
        break;
      case "{":
        this.#readCount();
        break;
      case "|":
        // A branch may be empty.
        this.#add(2);
        this.#at++;
        break;
      default:
        this.#add(1);
        this.#at++;
    }
  }

  #add(size: number): void {
    this.#total += size;
    this.#last = size;
  }

  #repeat(times: number, more: number): void {
    const size = this.#last * times + more;
    this.#total += size - this.#last;
    this.#last = size;
  }

  /** Reads `{n}`, `{n,}` or `{n,m}`; any other brace is a character. */
  #readCount(): void {
    REPEAT.lastIndex = this.#at;
    const found = REPEAT.exec(this.#pattern);
    if (found === null) {
      this.#add(1);
      this.#at++;
      return;
    }
    const [all, least = "0", comma, most = ""] = found;
    const times = Math.max(Number(least), Number(most), 1);
    const copies = times + (comma !== undefined && most === "" ? 1 : 0);
    this.#repeat(copies, comma === undefined ? 0 : times);
    this.#at += all.length;
  }

  /** Reads an escape; `\Q…\E` is literal text. @returns where it ends */
  #readEscape(from: number): number {
    const pattern = this.#pattern;
    const next = pattern.charAt(from + 1);
    if (next === "Q") {
      const end = pattern.indexOf("\\E", from + 2);
      const literal = (end < 0 ? pattern.length : end) - from - 2;
      this.#total += Math.max(literal - 1, 0);
      this.#add(Math.min(literal, 1));
      return end < 0 ? pattern.length : end + 2;
    }
    this.#add(1);
    if (next === "p" || next === "P") this.#addNamedClass();
    if (pattern.charAt(from + 2) === "{" && /[pPx]/.test(next)) {
      const end = pattern.indexOf("}", from);
      return end < 0 ? pattern.length : end + 1;
    }
    return from + 2;
  }

  /** Reads a class in brackets; it is one instruction. @returns where it ends */
  #readClass(from: number): number {
    const pattern = this.#pattern;
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
        if (/[pP]/.test(pattern.charAt(end + 1))) this.#addNamedClass();
        end += 2;
      } else {
        if (this.#folds && pattern.charAt(end) === "-") this.#extra += this.#foldedRange(end);
        end++;
      }
    }
    this.#add(1);
    return end + 1;
  }

  #addNamedClass(): void {
    this.#extra += STEPS_PER_CLASS * (this.#folds ? 2 : 1);
  }

  /** Steps for a range in a class whose letters are looked up, given the position of its `-`. */
  #foldedRange(dash: number): number {
    const to = this.#pattern.codePointAt(dash + 1) ?? 0;
    const from = this.#pattern.charAt(dash - 1);
    // An escape may mean any letter.
    const last = to === 0x5c ? LAST_CASED_LETTER : Math.min(to, LAST_CASED_LETTER);
    const first = /[\w}]/.test(from) && this.#pattern.charAt(dash - 2) !== "\\" && from !== "}"
      ? from.charCodeAt(0)
      : 0;
    return Math.max(0, last - first) * STEPS_PER_FOLDED_LETTER;
  }
}
