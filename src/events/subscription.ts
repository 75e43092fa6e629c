/** Which subscriptions are about a change. Pure: whoever keeps the subscriptions gives them. */
import {
  type LabelTerm,
  matchesLabels,
  parseLabelSelector,
} from "../expr/selectors/label_selector.ts";
import { isSubscribed, type SubscribedFacts } from "../expr/templates/subscription_context.ts";
import { SUBSCRIBED_CHANGES, type SubscribedChange, type Subscription } from "../spec/manifest.ts";
import {
  checkSubscribedNamespaces,
  validateSubscription,
} from "../spec/validation/subscription.ts";

/** A change, as far as subscriptions look at it. */
export interface SubscribableChange {
  change: SubscribedChange;
  namespace: string;
  /** Absent: the change is of no workflow, so subscriptions that select workflows are not about it. */
  workflow?: { labels: Record<string, string>; template?: string };
  facts: SubscribedFacts;
}

interface Entry {
  subscription: Subscription;
  /** Namespaces; undefined: all. */
  namespaces: ReadonlySet<string> | undefined;
  changes: ReadonlySet<SubscribedChange>;
  terms: LabelTerm[];
  template: string;
  expression: string;
  selectsWorkflows: boolean;
}

/** The subscriptions of a moment. */
export class SubscriptionSet {
  readonly #entries: Entry[] = [];
  readonly #byName = new Map<string, Subscription>();

  /**
   * @param admin namespace whose subscriptions may be about all namespaces; "" for none
   * @param onFault hears of those that cannot be carried out, and are left out
   */
  constructor(
    subscriptions: Iterable<Subscription>,
    admin: string,
    onFault: (subscription: Subscription, cause: unknown) => void,
  ) {
    for (const subscription of subscriptions) {
      try {
        this.#entries.push(entryOf(subscription, admin));
        const { namespace, name } = subscription.metadata;
        this.#byName.set(`${namespace}/${name}`, subscription);
      } catch (cause) {
        onFault(subscription, cause);
      }
    }
  }

  get size(): number {
    return this.#entries.length;
  }

  find(namespace: string, name: string): Subscription | undefined {
    return this.#byName.get(`${namespace}/${name}`);
  }

  /**
   * Subscriptions that are about a change.
   * @param onFault hears of expressions that fail; their subscriptions are not told
   */
  about(
    change: SubscribableChange,
    onFault: (subscription: Subscription, cause: unknown) => void,
  ): Subscription[] {
    const found: Subscription[] = [];
    for (const entry of this.#entries) {
      try {
        if (isAbout(entry, change)) found.push(entry.subscription);
      } catch (cause) {
        onFault(entry.subscription, cause);
      }
    }
    return found;
  }
}

/** @throws {Error} when the subscription cannot be carried out */
function entryOf(subscription: Subscription, admin: string): Entry {
  const { metadata: { namespace = "" }, spec } = subscription;
  const { namespaces = [], labelSelector = "", template = "", expression = "" } = spec.workflows ??
    {};
  // One that comes from a cluster may be stored although it is wrong.
  validateSubscription(subscription);
  checkSubscribedNamespaces(subscription, namespace, admin);
  const changes = spec.changes ?? [];
  return {
    subscription,
    namespaces: namespaces.includes("*")
      ? undefined
      : new Set(namespaces.length === 0 ? [namespace] : namespaces),
    changes: new Set(changes.length === 0 ? SUBSCRIBED_CHANGES : changes),
    terms: parseLabelSelector(labelSelector),
    template,
    expression,
    selectsWorkflows: labelSelector.trim() !== "" || template !== "" || expression !== "",
  };
}

function isAbout(
  entry: Entry,
  { change, namespace, workflow, facts }: SubscribableChange,
): boolean {
  if (!entry.changes.has(change)) return false;
  if (entry.namespaces !== undefined && !entry.namespaces.has(namespace)) return false;
  if (workflow === undefined) return !entry.selectsWorkflows;
  if (entry.template !== "" && entry.template !== workflow.template) return false;
  if (!matchesLabels(entry.terms, workflow.labels)) return false;
  return entry.expression === "" || isSubscribed(entry.expression, facts);
}
