/**
 * Who is calling, and may they. The service layer knows callers only by this port; how a credential becomes a caller
 * (unverified claims in tests, token file, OIDC, Kubernetes) is the business of the authenticators behind it.
 */

/** What is known about a caller; every member may be absent. */
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

/** Verbs of access rules, those of Kubernetes. */
export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete";

/** One request of access. */
export interface Access {
  verb: Verb;
  /** API group; absent means the workflow group, "" the core group (config maps, events, pods). */
  group?: string;
  /** Plural resource name with its subresource, for example `workflows` or `pods/log`. */
  resource: string;
  /** "" asks for all namespaces, or for a cluster-wide kind. */
  namespace: string;
  /** Absent for lists and creations. */
  name?: string;
}

/** Who sends a request, with the right to do what `may` says. */
export interface Caller {
  readonly identity: Identity;
  /** The workflow group, for the texts of refusals. @default that of the reference */
  readonly apiGroup?: string;
  /** May do everything, so that nothing need be looked up to ask for it. */
  readonly isUnrestricted?: true;
  /** Nobody has to prove anything here: the identity is what the request says, and may be anybody's. */
  readonly isAnyone?: true;
  /** Resolves to true when the access is granted; never rejects for a plain refusal. */
  may(access: Access): Promise<boolean>;
}

/** Turns one credential into a caller. */
export interface Authenticator {
  /**
   * @param credential the whole header form, for example `Bearer abc`, or undefined when the request carries none
   * @returns undefined when this authenticator does not take that kind of credential
   * @throws {Problem} Unauthenticated when it takes the kind, but the credential is not valid
   */
  authenticate(credential: string | undefined): Promise<Caller | undefined>;
}
