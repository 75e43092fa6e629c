/** Rules for subscriptions. */
import { errorText } from "../../base/error_text.ts";
import { parseLabelSelector } from "../../expr/selectors/label_selector.ts";
import { subscriptionExpressionFault } from "../../expr/templates/subscription_context.ts";
import { SUBSCRIBED_CHANGES, type Subscription, SUBSCRIPTION_FORMATS } from "../manifest.ts";
import { SpecError } from "../spec_error.ts";
import { subscriptionRetryMs, subscriptionTimeoutMs } from "../subscription.ts";
import { checkObjectName } from "./names.ts";

const MAX_URL = 2_048;
const MAX_HEADERS = 50;
const MAX_HEADER = 8_192;
const MAX_NAMESPACES = 100;
/** Headers that the server sets itself. */
const OWN_HEADERS =
  /^(webhook-.*|ce-.*|content-type|content-length|transfer-encoding|host|connection)$/i;
const HEADER_NAME = /^[-!#$%&'*+.^_`|~0-9A-Za-z]+$/;

/**
 * Checks that a subscription can be carried out.
 *
 * @throws {SpecError} at the first rule that is broken
 */
export function validateSubscription({ metadata, spec }: Subscription): void {
  checkObjectName("subscription", metadata.name);
  checkUrl(spec.url);
  checkChoices(spec);
  if ((spec.secret.name ?? "") === "" || spec.secret.key === "") {
    throw new SpecError(
      "spec.secret.name and spec.secret.key are required: the Secret that signs the deliveries",
    );
  }
  checkText("spec.timeout", () => subscriptionTimeoutMs(spec));
  checkText("spec.retryFor", () => subscriptionRetryMs(spec));
  checkHeaders(spec.headers ?? []);
  const { labelSelector = "", expression = "" } = spec.workflows ?? {};
  checkText("spec.workflows.labelSelector", () => parseLabelSelector(labelSelector));
  const fault = expression === "" ? undefined : subscriptionExpressionFault(expression);
  if (fault !== undefined) {
    throw new SpecError(`spec.workflows.expression is not a valid expression: ${fault}`);
  }
}

/**
 * Checks that a subscription is about workflows of its own namespace only, unless it is in the namespace of the server's
 * administrator.
 *
 * @param admin that namespace; "" if there is none
 * @throws {SpecError}
 */
export function checkSubscribedNamespaces(
  { spec: { workflows } }: Pick<Subscription, "spec">,
  namespace: string,
  admin = "",
): void {
  const asked = workflows?.namespaces ?? [];
  if (asked.length > MAX_NAMESPACES) {
    throw new SpecError(`spec.workflows.namespaces has more than ${MAX_NAMESPACES} members`);
  }
  const other = asked.find((one) => one !== namespace);
  if (other === undefined || (admin !== "" && namespace === admin)) return;
  throw new SpecError(
    `spec.workflows.namespaces: ${JSON.stringify(other)} is not the subscription's namespace; ` +
      (admin === ""
        ? "set --webhook-admin-namespace to the one that may subscribe to all"
        : `only subscriptions in namespace ${admin} may be about others`),
  );
}

function checkUrl(text: string): void {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new SpecError(`spec.url is ${JSON.stringify(text)}, expected an http or https URL`);
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new SpecError(`spec.url is ${JSON.stringify(text)}, expected an http or https URL`);
  }
  if (text.length > MAX_URL) throw new SpecError(`spec.url has more than ${MAX_URL} characters`);
  if (url.username !== "" || url.password !== "") {
    throw new SpecError("spec.url holds a password: put it into a Secret, and use spec.headers");
  }
}

function checkChoices({ changes = [], format }: Subscription["spec"]): void {
  const stranger = changes.find((one) => !SUBSCRIBED_CHANGES.includes(one));
  if (stranger !== undefined) {
    throw new SpecError(
      `spec.changes: ${JSON.stringify(stranger)} is unknown, expected ${
        SUBSCRIBED_CHANGES.join(", ")
      }`,
    );
  }
  if ((format ?? "") !== "" && !SUBSCRIPTION_FORMATS.some((one) => one === format)) {
    throw new SpecError(
      `spec.format is ${JSON.stringify(format)}, expected ${SUBSCRIPTION_FORMATS.join(", ")}`,
    );
  }
}

function checkHeaders(headers: NonNullable<Subscription["spec"]["headers"]>): void {
  if (headers.length > MAX_HEADERS) {
    throw new SpecError(`spec.headers has more than ${MAX_HEADERS} members`);
  }
  headers.forEach(({ name, value = "", valueFrom }, index) => {
    const place = `spec.headers[${index}]`;
    if (!HEADER_NAME.test(name)) {
      throw new SpecError(
        `${place}.name is ${JSON.stringify(name)}, which is not a valid name of a header`,
      );
    }
    if (OWN_HEADERS.test(name)) {
      throw new SpecError(`${place}.name is ${name}, which the server sets itself`);
    }
    // deno-lint-ignore no-control-regex -- these are what no header may have
    if (value.length > MAX_HEADER || /[\x00-\x08\x0a-\x1f\x7f]/.test(value)) {
      throw new SpecError(
        `${place}.value has more than ${MAX_HEADER} characters, or some that no header may have`,
      );
    }
    const reference = valueFrom?.secretKeyRef;
    if (reference !== undefined && ((reference.name ?? "") === "" || reference.key === "")) {
      throw new SpecError(`${place}.valueFrom.secretKeyRef needs a name and a key`);
    }
  });
}

function checkText(place: string, check: () => unknown): void {
  try {
    check();
  } catch (error) {
    throw new SpecError(`${place}: ${errorText(error)}`);
  }
}
