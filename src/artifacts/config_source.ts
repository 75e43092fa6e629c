/** ConfigMaps and Secrets as executors and artifact adapters see them: read by name, nothing else. */
export interface ConfigSource {
  /** The entries of a ConfigMap; undefined when there is none. */
  configMap(namespace: string, name: string): Promise<Record<string, string> | undefined>;
  /** The decoded entries of a Secret; undefined when there is none. */
  secret(namespace: string, name: string): Promise<Record<string, string> | undefined>;
}
