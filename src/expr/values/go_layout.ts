/** Go's layouts: a time is described by how the reference time, `2006-01-02 15:04:05`, would be written. */

/** The elements of a layout; if one begins with another, the longer one comes first. */
const ELEMENT = new RegExp(
  [
    "January",
    "Jan(?!uary)",
    "Monday",
    "Mon(?!day)",
    "MST",
    "2006",
    "[.,](?:0+|9+)(?!\\d)",
    "-07:00:00",
    "-07:00",
    "-070000",
    "-0700",
    "-07",
    "Z07:00:00",
    "Z07:00",
    "Z070000",
    "Z0700",
    "Z07",
    "__2",
    "002",
    "_2006",
    "_2",
    "0[1-6]",
    "15",
    "PM",
    "pm",
    "[1-5]",
  ].join("|"),
  "g",
);

/** A piece of a layout: an element, or text that stands for itself. */
export type Piece = { readonly text: string; readonly isElement: boolean };

/** Splits a layout into elements and the text between them. */
export function piecesOf(layout: string): Piece[] {
  const pieces: Piece[] = [];
  let end = 0;
  const add = (text: string, isElement: boolean) => {
    if (text !== "") pieces.push({ text, isElement });
  };
  for (const match of layout.matchAll(ELEMENT)) {
    let [element] = match;
    let { index } = match;
    // "_2006" is an underscore and a year; a month or weekday cut short by a small letter is not an element.
    if (element === "_2006") [element, index] = ["2006", index + 1];
    const isName = element === "Jan" || element === "Mon";
    if (isName && /^[a-z]/.test(layout.slice(index + 3))) continue;
    add(layout.slice(end, index), false);
    add(element, true);
    end = index + element.length;
  }
  add(layout.slice(end), false);
  return pieces;
}
