/** Rules for lifecycle hooks. */
import type { LifecycleHook } from "../manifest.ts";
import { SpecError } from "../spec_error.ts";

/**
 * @param place what precedes the hook's name in messages
 * @throws {SpecError} when a hook other than `exit` does not say when it runs
 */
export function checkHooks(place: string, hooks: Record<string, LifecycleHook> | undefined): void {
  for (const [name, hook] of Object.entries(hooks ?? {})) {
    if (name !== "exit" && (hook.expression ?? "") === "") {
      throw new SpecError(`${place}.${name} Expression required`);
    }
  }
}
