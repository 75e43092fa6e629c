/** A container that could not be started. Its node ends in phase Error. */
export class StartFault extends Error {
  /** @param reason One word, as the cluster names such faults (`ErrImagePull`, `CreateContainerConfigError` …). */
  constructor(container: string, reason: string, message: string) {
    super(`Pod failed before ${container} container starts due to ${reason}: ${message}`);
    this.name = "StartFault";
  }
}

/** What a manifest asks for and no container can have. */
export function configFault(container: string, message: string): StartFault {
  return new StartFault(container, "CreateContainerConfigError", message);
}

/**
 * Programs get texts that end at a NUL. Told here, because the runtime's own message has the value, which may be a secret.
 * @throws {StartFault}
 */
export function refuseNul(
  container: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): void {
  const name = Object.keys(env).find((name) => env[name]?.includes("\0"));
  if (name !== undefined) throw configFault(container, `variable ${name} has a NUL`);
  if (args.some((arg) => arg.includes("\0"))) {
    throw configFault(container, "its command or an argument has a NUL");
  }
}
