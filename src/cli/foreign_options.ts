/** What is said about options of the `argo` client that have no meaning here. */

const CLUSTER = [
  ...["as", "as-group", "as-uid", "client-certificate", "client-key", "cluster", "context"],
  ...["disable-compression", "kubeconfig", "password", "proxy-url", "request-timeout"],
  ...["user", "username"],
];
const CERTIFICATE = [
  ...["-k", "--insecure-skip-verify", "--insecure-skip-tls-verify"],
  ...["--certificate-authority", "--tls-server-name"],
];

/** How a certificate comes to be accepted. */
export const CERTIFICATE_ADVICE =
  "NODE_EXTRA_CA_CERTS=FILE (with Deno: DENO_CERT=FILE) names the authority that signed the server's certificate";

const ADVICE: ReadonlyMap<string, string> = new Map([
  ...CLUSTER.map((name): [string, string] => [
    `--${name}`,
    "This is for a client of a cluster. sluice asks a server: see --server, --token and --namespace",
  ]),
  ...CERTIFICATE.map((option): [string, string] => [
    option,
    `Certificates are always checked. ${CERTIFICATE_ADVICE}`,
  ]),
  ["--instanceid", "There are no instance ids: a server runs every workflow that it has"],
  ["--priority", "A copy has the priority of its workflow"],
  ["--format", "The time is written as RFC 3339"],
]);

/** What to do instead of an option that the reference's client has, and this one has not. @param refusal of the command line */
export function adviceAbout(refusal: string): string | undefined {
  const option = /unknown option '(-{1,2}[a-z0-9-]+)/.exec(refusal)?.[1];
  return option === undefined ? undefined : ADVICE.get(option);
}
