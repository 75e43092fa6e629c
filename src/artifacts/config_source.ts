/** ConfigMaps and Secrets for executors and artifact adapters, read by name. */
export interface ConfigSource {
  /** The entries of a ConfigMap; undefined when there is none. */
  configMap(namespace: string, name: string): Promise<Record<string, string> | undefined>;
  /** The decoded entries of a Secret; undefined when there is none. */
  secret(namespace: string, name: string): Promise<Record<string, string> | undefined>;
}
