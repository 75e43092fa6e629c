/**
 * The OpenMetrics form of a page of metrics. It may have exemplars: traces in which a value was seen. Within the server, a page
 * has them at the end of its lines, as OpenMetrics writes them; the older form of Prometheus has no place for them.
 */

/** A trace in which a value was seen. */
export interface Exemplar {
  /** 32 hexadecimal digits. */
  traceId: string;
  value: number;
  /** Epoch ms. */
  at: number;
}

/** No text of a label looks like this: its quotation marks are escaped. */
const EXEMPLAR = / # \{trace_id="[0-9a-f]{32}"\} \S+ \S+$/;
const EXEMPLARS = new RegExp(EXEMPLAR.source, "gm");

/** What a line has at its end. */
export function exemplarText({ traceId, value, at }: Exemplar): string {
  return ` # {trace_id="${traceId}"} ${value} ${(at / 1000).toFixed(3)}`;
}

/** The page in the older form. */
export function withoutExemplars(page: string): string {
  return page.replace(EXEMPLARS, "");
}

/** The page in the form of OpenMetrics 1.0. */
export function openMetrics(page: string): string {
  const lines = page.split("\n").filter((line) => line !== "");
  const names = new Set(
    lines.flatMap((line) => /^# TYPE (\S+) /.exec(line)?.[1] ?? []),
  );
  let isUnknown = false;
  const shown = lines.map((line) => {
    const [, keyword, name = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (keyword === undefined) return isUnknown ? line.replace(EXEMPLAR, "") : line;
    // A counter is named without the end of its line's name. One that has another end is a counter only to Prometheus.
    const base = name.replace(/_total$/, "");
    const isNamed = base !== name && !names.has(base);
    if (keyword === "HELP") {
      return [keyword, name, rest.replaceAll('"', '\\"')] as const;
    }
    isUnknown = rest === "counter" && !isNamed;
    return [
      keyword,
      rest === "counter" && isNamed ? base : name,
      isUnknown ? "unknown" : rest,
    ] as const;
  });
  const texts: string[] = [];
  for (const [at, line] of shown.entries()) {
    if (typeof line === "string") {
      texts.push(line);
      continue;
    }
    const [keyword, name, rest] = line;
    // The help comes first, and has the same name as the type.
    const next = shown[at + 1];
    const same = keyword === "HELP" && next !== undefined && typeof next !== "string"
      ? next[1]
      : name;
    texts.push(`# ${keyword} ${same} ${rest}`);
  }
  return `${texts.join("\n")}\n# EOF\n`;
}

/** Whether a caller who accepts this wants OpenMetrics: it says so, and does not like the older form better. */
export function prefersOpenMetrics(accept: string | null): boolean {
  let openMetrics = 0;
  let plain = 0;
  for (const range of (accept ?? "").slice(0, 2_048).split(",")) {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    const given = parameters.find((one) => one.startsWith("q="))?.slice(2);
    const quality = given === undefined ? 1 : Number(given) || 0;
    const version = parameters.find((one) => one.startsWith("version="))?.slice(8) ?? "1.0.0";
    if (type === "application/openmetrics-text" && version === "1.0.0") {
      openMetrics = Math.max(openMetrics, quality);
    } else if (type === "text/plain") plain = Math.max(plain, quality);
  }
  return openMetrics > 0 && openMetrics >= plain;
}
