/** The largest time that a date can have, epoch ms. */
export const MAX_TIME = 8.64e15;

/**
 * A time that a person wrote, such as `2026-01-31T12:00:00Z` or `2026-01-31`, as epoch ms; undefined for any other text.
 * `Date.parse` alone takes 31 February for 3 March.
 */
export function timeOf(text: string): number | undefined {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) return undefined;
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)/.exec(text) ?? [];
  const daysOfMonth = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  return Number(day) > daysOfMonth ? undefined : ms;
}
