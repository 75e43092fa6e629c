/** Lines of logs that are JSON objects, as many programs write them. */

export interface LogFields {
  /** What the line says, if one of its members is that. */
  message: string;
  /** The other members, values as text. */
  fields: [name: string, value: string][];
}

/** Members that hold what a line says, the first one counts. */
const MESSAGES = ["msg", "message", "event", "text"];
/** Longer lines stay as they are: nobody reads their fields, and reading them takes time. */
const MAX_LINE = 20_000;
const MAX_VALUE = 500;

/** The members of a line that is a JSON object; undefined for other lines. */
export function fieldsOf(line: string): LogFields | undefined {
  const text = line.trim();
  if (!text.startsWith("{") || !text.endsWith("}") || text.length > MAX_LINE) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const members = Object.entries(value as Record<string, unknown>);
  const said = MESSAGES.find((name) => members.some(([key, one]) => key === name && isText(one)));
  return {
    message: textOf(members.find(([key]) => key === said)?.[1] ?? ""),
    fields: members.filter(([key]) => key !== said).map(([key, one]) => [key, textOf(one)]),
  };
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}

function textOf(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)} …` : text;
}

/**
 * Tells whether a line has every word of a search. A word `NAME=VALUE` also means a member of a line that is JSON.
 */
export function matches(line: string, search: string): boolean {
  const words = search.toLowerCase().split(/\s+/).filter((word) => word !== "");
  if (words.length === 0) return true;
  const text = line.toLowerCase();
  let fields: LogFields["fields"] | undefined;
  return words.every((word) => {
    if (text.includes(word)) return true;
    const at = word.indexOf("=");
    if (at <= 0) return false;
    fields ??= fieldsOf(line)?.fields ?? [];
    return fields.some(([name, value]) => `${name}=${value}`.toLowerCase() === word);
  });
}
