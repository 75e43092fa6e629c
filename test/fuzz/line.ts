/** JSON on one line of plain ASCII: readers of lines end one at other characters too. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[\u007f-\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
