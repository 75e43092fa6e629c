/** The address cannot be had: another program listens there, or it is not one of this machine. */
export class ListenError extends Error {
  constructor({ host, port }: { host: string; port: number }, cause: unknown) {
    super(`cannot listen on ${host}:${port}`, { cause });
    this.name = "ListenError";
  }
}
