/** One request of `node:http` and its response, ended by a signal. */
import type { ClientRequest, IncomingMessage } from "node:http";

/**
 * Sends a request; resolves with the response when its head is there. Aborting ends both, also while the body is read.
 * Intentionally not by the option `signal`: on Deno that has no effect on a connection that was used before.
 *
 * @throws {unknown} what went wrong with the connection, or the signal's reason
 */
export function exchange(
  request: ClientRequest,
  body: Uint8Array | undefined,
  signal: AbortSignal | undefined,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      reject(signal?.reason);
      request.destroy();
    };
    const release = () => signal?.removeEventListener("abort", stop);
    request.once("response", (response) => {
      response.once("close", release);
      resolve(response);
    });
    request.on("error", (error) => {
      release();
      reject(error);
    });
    signal?.addEventListener("abort", stop);
    if (signal?.aborted === true) stop();
    else request.end(body);
  });
}
