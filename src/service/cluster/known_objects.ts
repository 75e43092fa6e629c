/** What is known of the Workflow objects of the cluster while they are watched. */
import { type ClusterObject, isOlderVersion } from "../../kubernetes/cluster_object.ts";
import { factsOf, type ObjectFacts, type RunNote, switchText } from "./object_facts.ts";

export class KnownObjects {
  readonly #labelPrefix: string;
  readonly #facts = new Map<string, ObjectFacts>();
  /** By uid: switches that were taken over from an object, until the object itself says so. */
  readonly #takenOver = new Map<string, string>();

  /** @param labelPrefix of the label that names another controller */
  constructor(labelPrefix: string) {
    this.#labelPrefix = labelPrefix;
  }

  get size(): number {
    return this.#facts.size;
  }

  /** @param key `namespace/name` */
  get(key: string): ObjectFacts | undefined {
    return this.#facts.get(key);
  }

  /** Objects of a namespace, or of all, by key. */
  inNamespace(namespace: string | undefined): [key: string, facts: ObjectFacts][] {
    return [...this.#facts].filter(([, facts]) =>
      namespace === undefined || facts.namespace === namespace
    );
  }

  /** Reads an object as it is. */
  read(object: ClusterObject): ObjectFacts {
    return factsOf(object, this.#labelPrefix);
  }

  /**
   * Reads an object that somebody may have edited. An edit that was taken over counts even before the object says so. If
   * somebody reverts it then, that is an edit too.
   */
  readEdited(object: ClusterObject): ObjectFacts {
    const facts = this.read(object);
    const spec = this.#takenOver.get(facts.uid);
    const { run } = facts;
    if (spec === undefined || run === undefined || run.spec === spec) return facts;
    return { ...facts, run: { ...run, spec, version: "" } };
  }

  /** Keeps what was read of an object. @returns false when something newer is known */
  keep(facts: ObjectFacts): boolean {
    const key = keyOfFacts(facts);
    const known = this.#facts.get(key);
    if (known?.uid === facts.uid && isOlderVersion(facts.version, known.version)) return false;
    this.#facts.set(key, facts);
    return true;
  }

  /** Keeps what a patch has made of an object, unless that is gone: its answer may come after the end of the object. */
  keepPatched(facts: ObjectFacts): void {
    if (this.#isKnown(facts)) this.keep(facts);
  }

  #isKnown(facts: ObjectFacts): boolean {
    return this.#facts.get(keyOfFacts(facts))?.uid === facts.uid;
  }

  /** What the object asks for has been taken over. */
  takeOver(facts: ObjectFacts, run: RunNote): void {
    if (!this.#isKnown(facts)) return;
    const spec = switchText(facts);
    this.#takenOver.set(facts.uid, spec);
    this.keep({ ...facts, run: { ...run, spec, version: "" } });
  }

  /** The object itself now says what was taken over. */
  shown({ uid }: ObjectFacts): void {
    this.#takenOver.delete(uid);
  }

  forget(key: string): void {
    this.#takenOver.delete(this.#facts.get(key)?.uid ?? "");
    this.#facts.delete(key);
  }
}

/** The key by which an object is known. */
export function keyOfFacts({ namespace, name }: ObjectFacts): string {
  return `${namespace}/${name}`;
}
