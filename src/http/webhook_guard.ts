/** Senders of events that prove who they are by a signature instead of a credential. */
import { isProblem, Problem, ProblemCode } from "../base/problem.ts";
import {
  knownWithoutSenders,
  proveWebhook,
  type WebhookProof,
} from "../service/events/webhook_senders.ts";
import type { GuardedRequest, GuardVerdict } from "./route.ts";
import { WEBHOOK_SECRET } from "../spec/naming.ts";

/**
 * Lets a sender that signed the event act as its service account. The body is read only if the headers hold what one of the
 * namespace's senders would send. Where callers must prove who they are, an event without a credential is refused at once if
 * the namespace has no senders.
 *
 * @throws {Problem} PermissionDenied then, and when the namespace's senders can't be read; Unauthenticated for a wrong signature
 */
export function webhookGuard(
  guarded: GuardedRequest,
): GuardVerdict | undefined | Promise<GuardVerdict | undefined> {
  const { service, params, credentials, isAgain } = guarded;
  if (credentials.length > 0) return undefined;
  const namespace = params.namespace ?? "";
  if (!isAgain && !service.settings.authRequired) {
    const manifests = knownWithoutSenders(service, namespace);
    if (manifests !== undefined) return { manifests };
  }
  return judge(guarded, namespace);
}

async function judge(
  { service, headers, body }: GuardedRequest,
  namespace: string,
): Promise<GuardVerdict | undefined> {
  let proof: WebhookProof;
  try {
    proof = await proveWebhook(service, namespace, headers, () => body.bytes());
  } catch (error) {
    // Where nothing has to be proved, no event waits for a cluster that can't tell. A store that did not answer would not
    // answer when the event is stored either, and the sender would wait for both.
    const isPassedOver = !service.settings.authRequired &&
      isProblem(error, ProblemCode.Unavailable) && !error.mayBeDone;
    if (!isPassedOver) throw error;
    return undefined;
  }
  switch (proof.type) {
    case "proved":
      return { caller: proof.caller };
    case "unknown":
      return undefined;
    case "mismatch":
      if (!service.settings.authRequired) return undefined;
      throw new Problem(
        ProblemCode.Unauthenticated,
        `token not valid: the event is signed, but by no sender in secret ${WEBHOOK_SECRET} of namespace ${
          JSON.stringify(namespace)
        }: compare its secret and type there, and its clock if it signs the time, or send a token`,
      );
    case "none":
      if (!service.settings.authRequired) return undefined;
      throw refusal(
        `send a token in the header Authorization: namespace ${
          JSON.stringify(namespace)
        } has no webhook senders whose signature could stand for one`,
      );
    case "broken":
      throw refusal(
        `the webhook senders of namespace ${JSON.stringify(namespace)} can't be read from secret ` +
          `${WEBHOOK_SECRET}, and the server's log says why: repair it, or send a token`,
      );
  }
}

function refusal(what: string): Problem {
  return new Problem(ProblemCode.PermissionDenied, `nothing proves who sends the event: ${what}`);
}
