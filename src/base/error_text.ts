/** The text of anything that was thrown: the message of an error, or its name where it has none. */
export function errorText(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message || thrown.name : String(thrown);
}
