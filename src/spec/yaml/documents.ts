/**
 * YAML texts that the reference's reader takes, and this library's does not: between quotes and brackets it does not look at how
 * lines are indented, where YAML demands at least one space more than outside; and between brackets, `-` alone is a text.
 */
import {
  Composer,
  type Document,
  type DocumentOptions,
  Lexer,
  LineCounter,
  parse,
  parseAllDocuments,
  type ParseOptions,
  Parser,
  type SchemaOptions,
} from "yaml";

export type YamlOptions = ParseOptions & DocumentOptions & SchemaOptions;

/** What the lexer of the library does for quotes and brackets. It does not declare it; the tests show that it is there. */
interface LexerParts {
  /** How far the next line must be indented at least. */
  indentNext: number;
  /** How many brackets are open. */
  flowLevel: number;
  charAt(ahead: number): string | undefined;
  lex(source: string): Generator<string, void>;
  parseQuotedScalar(): Generator<string, unknown>;
  parseFlowCollection(): Generator<string, unknown>;
  pushIndicators(): Generator<string, number>;
}

class FreeLexer extends (Lexer as unknown as new () => LexerParts) {
  override parseQuotedScalar(): Generator<string, unknown> {
    return this.#free(super.parseQuotedScalar());
  }

  override parseFlowCollection(): Generator<string, unknown> {
    return this.#free(super.parseFlowCollection());
  }

  override *pushIndicators(): Generator<string, number> {
    const isText = this.flowLevel > 0 && this.charAt(0) === "-" &&
      /[,[\]{}]/.test(this.charAt(1) ?? "");
    return isText ? 0 : yield* super.pushIndicators();
  }

  *#free(part: Generator<string, unknown>): Generator<string, unknown> {
    const { indentNext } = this;
    this.indentNext = 0;
    const next = yield* part;
    this.indentNext = indentNext;
    return next;
  }
}

/** The parts of a text, as the reference's reader takes them. */
export function lexFreely(text: string): Iterable<string> {
  return new FreeLexer().lex(text);
}

/**
 * Reads all documents of a text.
 *
 * @param options its counter of lines counts if there are no mistakes
 * @returns undefined if there are mistakes: what the library says of them is more to the point, since it does not take all that
 * follows a forgotten quotation mark for one text
 */
export function parseFreely(text: string, options: YamlOptions): Document.Parsed[] | undefined {
  const lines = new LineCounter();
  const documents = [...new Composer(options).compose(tokensOf(text, lines))];
  if (documents.some(({ errors }) => errors.length > 0)) return undefined;
  if (options.lineCounter !== undefined) options.lineCounter.lineStarts = lines.lineStarts;
  return documents as Document.Parsed[];
}

function* tokensOf(text: string, { addNewLine }: LineCounter): ReturnType<Parser["parse"]> {
  const parser = new Parser(addNewLine);
  addNewLine(0);
  for (const lexeme of lexFreely(text)) yield* parser.next(lexeme);
  yield* parser.end();
}

/** Reads all documents of a text. If there are mistakes, they are those that the library finds. */
export function parseYaml(text: string, options: YamlOptions): Document.Parsed[] {
  return parseFreely(text, options) ??
    [...parseAllDocuments(text, options)] as Document.Parsed[];
}

/**
 * The value of a text with one document.
 * @throws {Error} as the library does
 */
export function yamlValue(text: string, options: YamlOptions): unknown {
  const documents = parseFreely(text, options);
  return documents?.length === 1 ? documents[0]?.toJS() : parse(text, options);
}
