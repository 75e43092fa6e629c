/** What a log line may show of the configuration. */
import { maskUrl } from "../base/masked_url.ts";
import { archivePlace } from "../platform/archive_place.ts";
import { type Config, CONFIG_TABLE } from "../platform/config.ts";

/** The configuration without secrets: those of the table that are one, and the passwords of all URLs. */
export function shownConfig(config: Config): Record<string, unknown> {
  const all = { ...config, archiveStore: archivePlace(config) };
  return Object.fromEntries(
    Object.entries(all).map(([name, value]) => [
      name,
      typeof value === "string" && value !== "" ? shownText(name, value) : value,
    ]),
  );
}

function shownText(name: string, value: string): string {
  const row = CONFIG_TABLE[name as keyof typeof CONFIG_TABLE];
  return "secret" in row ? "***" : maskUrl(value);
}
