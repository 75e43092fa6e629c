/** Names of replicas: unlike all others, and with the version of the program at the end, so that each can tell what the others are. */
import { VERSION } from "./version.ts";

/** @param suffix random, for processes that follow each other on one machine under one number */
export function replicaName(host: string, pid: number, suffix: string): string {
  return `${host}-${pid}-${suffix}@${VERSION}`;
}

/** The version of a replica; undefined if its name does not say it. */
export function versionOfReplica(name: string): string | undefined {
  return /@([^@]+)$/.exec(name)?.[1];
}
