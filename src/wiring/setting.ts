/** Settings whose form only another layer knows. */
import { errorText } from "../base/error_text.ts";
import { ConfigError } from "../platform/config.ts";

/**
 * Reads such a setting.
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
