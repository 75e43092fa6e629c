/** Which subscriptions are about a change. Pure: whoever keeps the subscriptions gives them. */
import {
  type LabelTerm,
  matchesLabels,
  parseLabelSelector,
} from "../expr/selectors/label_selector.ts";
import {
  SubscribedExpressions,
  type SubscribedFacts,
} from "../expr/templates/subscription_context.ts";
import type { RunOptions } from "../expr/values/run_context.ts";
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

/** Entries of subscriptions, so that a set that differs in one of them costs no more than that one. */
const known = new WeakMap<Subscription, { entry: Entry; admin: string }>();

/** The subscriptions of a moment. */
export class SubscriptionSet {
  readonly #byNamespace = new Map<string, Entry[]>();
  readonly #everywhere: Entry[] = [];
  readonly #byName = new Map<string, Subscription>();
  /** Those that cannot be carried out. */
  readonly #faulty = new Map<string, Subscription>();

  /**
   * @param subscriptions never changed afterwards
   * @param admin namespace whose subscriptions may be about all namespaces; "" for none
   * @param onFault hears of those that cannot be carried out: they are about nothing
   */
  constructor(
    subscriptions: Iterable<Subscription>,
    admin: string,
    onFault: (subscription: Subscription, cause: unknown) => void,
  ) {
    for (const subscription of subscriptions) {
      const { namespace, name } = subscription.metadata;
      try {
        this.#add(entryOf(subscription, admin));
        this.#byName.set(`${namespace}/${name}`, subscription);
      } catch (cause) {
        this.#faulty.set(`${namespace}/${name}`, subscription);
        onFault(subscription, cause);
      }
    }
  }

  get size(): number {
    return this.#byName.size + this.#faulty.size;
  }

  /** Finds one that cannot be carried out. */
  findFaulty(namespace: string, name: string): Subscription | undefined {
    return this.#faulty.get(`${namespace}/${name}`);
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
    run: RunOptions,
    onFault: (subscription: Subscription, cause: unknown) => void,
  ): Subscription[] {
    // Those of the administrator come first, and what the others do costs them nothing.
    return [this.#everywhere, this.#byNamespace.get(change.namespace) ?? []]
      .flatMap((entries) => chosen(entries, change, run, onFault));
  }

  #add(entry: Entry): void {
    if (entry.namespaces === undefined) {
      this.#everywhere.push(entry);
      return;
    }
    for (const namespace of entry.namespaces) {
      const others = this.#byNamespace.get(namespace);
      if (others === undefined) this.#byNamespace.set(namespace, [entry]);
      else others.push(entry);
    }
  }
}

function chosen(
  entries: readonly Entry[],
  change: SubscribableChange,
  run: RunOptions,
  onFault: (subscription: Subscription, cause: unknown) => void,
): Subscription[] {
  const candidates = entries.filter((entry) => mayBeAbout(entry, change));
  const asked = candidates.filter(({ expression }) => expression !== "").length;
  const expressions = new SubscribedExpressions(change.facts, asked, run);
  return candidates.filter(({ subscription, expression }) => {
    try {
      return expression === "" || expressions.holds(expression);
    } catch (cause) {
      onFault(subscription, cause);
      return false;
    }
  }).map(({ subscription }) => subscription);
}

/** @throws {Error} when the subscription cannot be carried out */
function entryOf(subscription: Subscription, admin: string): Entry {
  const before = known.get(subscription);
  if (before?.admin === admin) return before.entry;
  const { metadata: { namespace = "" }, spec } = subscription;
  const { namespaces = [], labelSelector = "", template = "", expression = "" } = spec.workflows ??
    {};
  // One that comes from a cluster may be stored although it is wrong.
  validateSubscription(subscription);
  checkSubscribedNamespaces(subscription, namespace, admin);
  const changes = spec.changes ?? [];
  const entry = {
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
  known.set(subscription, { entry, admin });
  return entry;
}

/** Whether all but its expression says so. */
function mayBeAbout(entry: Entry, { change, workflow }: SubscribableChange): boolean {
  if (!entry.changes.has(change)) return false;
  if (workflow === undefined) return !entry.selectsWorkflows;
  if (entry.template !== "" && entry.template !== workflow.template) return false;
  return matchesLabels(entry.terms, workflow.labels);
}
