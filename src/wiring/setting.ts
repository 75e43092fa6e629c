/** Settings whose form only another layer knows. */
import { join } from "node:path";
import { parseRetention, type RetentionPolicy } from "../archive/retention.ts";
import { parseRepository, type RepositorySetting } from "../artifacts/repository_setting.ts";
import { errorText } from "../base/error_text.ts";
import { type LabelTerm, parseLabelSelector } from "../expr/selectors/label_selector.ts";
import { parseOrigins } from "../http/origin.ts";
import { type Config, ConfigError } from "../platform/config.ts";

/** Those that are texts, as values. */
export interface ReadSettings {
  /** Labels of the workflows that the archive has. */
  archiveSelector: LabelTerm[];
  archiveRetention: RetentionPolicy[];
  /** Whose pages may call. */
  origins: string[];
  /** Where artifacts go. */
  repository: RepositorySetting;
}

/**
 * Reads them. They are read before anything is opened: a wrong one is told at once, also while the store cannot be reached.
 *
 * @throws {ConfigError} with the flag's name and what is wrong
 */
export function readSettings(config: Config): ReadSettings {
  return {
    archiveSelector: readSetting(
      "--archive-selector",
      () => parseLabelSelector(config.archiveSelector),
    ),
    archiveRetention: readSetting(
      "--archive-retention",
      () => parseRetention(config.archiveRetention),
    ),
    origins: readSetting(
      "--access-control-allow-origin",
      () => parseOrigins(config.accessControlAllowOrigin),
    ),
    repository: readSetting(
      "--artifacts",
      () => parseRepository(config.artifacts || join(workFolder(config), "artifacts")),
    ),
  };
}

/**
 * Reads one setting.
 *
 * @throws {ConfigError} with the flag's name and what is wrong
 */
export function readSetting<T>(flag: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw new ConfigError([`${flag}: ${errorText(cause)}`]);
  }
}

/** Folder for tasks and artifacts on this machine. */
export function workFolder({ store, workDir }: Config): string {
  return store.startsWith("sqlite:") ? store.slice("sqlite:".length) : workDir;
}
