/**
 * Who is calling, and what may they do. The service layer knows callers only by this port. The authenticators behind it turn
 * credentials into callers (unverified claims, token file, OIDC, Kubernetes).
 */

/** What is known about a caller. Every member may be absent. */
export interface Identity {
  issuer?: string;
  subject?: string;
  groups?: string[];
  name?: string;
  email?: string;
  emailVerified?: boolean;
  preferredUsername?: string;
  serviceAccountName?: string;
  serviceAccountNamespace?: string;
}

/** Verbs of access rules, as in Kubernetes. */
export const VERBS = ["get", "list", "watch", "create", "update", "patch", "delete"] as const;
export type Verb = typeof VERBS[number];

/** A right that is asked for. */
export interface Access {
  verb: Verb;
  /** API group. Absent: the workflow group; "": the core group (config maps, events, pods). */
  group?: string;
  /** Plural name of the resource, with a subresource if any: `workflows`, `pods/log`. */
  resource: string;
  /** "" for all namespaces, and for cluster-wide kinds. */
  namespace: string;
  /** Absent for lists and creations. */
  name?: string;
}

/** The sender of a request and its rights. */
export interface Caller {
  readonly identity: Identity;
  /** The workflow group, for the texts of refusals. @default that of the reference */
  readonly apiGroup?: string;
  /** May do everything, so that nothing has to be read to check it. */
  readonly isUnrestricted?: true;
  /** Authentication is off: the identity is only what the request claims. */
  readonly isAnyone?: true;
  /** Resolves to true when the access is granted. Does not reject when it is refused. */
  may(access: Access): Promise<boolean>;
  /**
   * Namespaces in which it may do something, or have the given right without a name; `*`: all. Absent: not known, because
   * others keep the rules.
   */
  namespaces?(right?: Omit<Access, "namespace" | "name">): readonly string[];
}

/** Turns one credential into a caller. */
export interface Authenticator {
  /**
   * @param credential as in the header, for example `Bearer abc`; undefined when the request has none
   * @returns undefined when this authenticator does not handle that kind of credential
   * @throws {Problem} Unauthenticated when it handles the kind, but the credential is not valid
   */
  authenticate(credential: string | undefined): Promise<Caller | undefined>;
}
