/** A container that could not be started. Its node ends in phase Error. */
export class StartFault extends Error {
  /** @param reason One word, as the cluster names such faults (`ErrImagePull`, `CreateContainerConfigError` …). */
  constructor(container: string, reason: string, message: string) {
    super(`Pod failed before ${container} container starts due to ${reason}: ${message}`);
    this.name = "StartFault";
  }
}
