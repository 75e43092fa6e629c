/** Long texts in a short form that can be kept and made smaller: pieces, each with how often it is there. */
import fc from "fast-check";

/** A text, or one that is repeated. */
export type Piece = string | { text: string; times: number };

/** The text itself. */
export function joinPieces(pieces: readonly Piece[]): string {
  return pieces.map((piece) => typeof piece === "string" ? piece : piece.text.repeat(piece.times))
    .join("");
}

/** Numbers of repetitions: few as a rule, now and then very many. */
export const times: fc.Arbitrary<number> = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 5 }) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 300 }) },
  { weight: 1, arbitrary: fc.constantFrom(1_000, 10_000, 100_000) },
);
