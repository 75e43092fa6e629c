/**
 * Names of replicas: unlike all others, with what tells its process on its own machine, and with the version of the program at
 * the end, so that each can tell what the others are.
 */
import { VERSION } from "./version.ts";

/**
 * @param machine mark of the processes that see each other by their numbers; "" if that is not known
 * @param suffix random, for processes that follow each other on one machine under one number
 */
export function replicaName(host: string, pid: number, machine: string, suffix: string): string {
  return `${host}-${pid}-${machine}${suffix}@${VERSION}`;
}

/** The number of the process of a replica, if it is or was one of those with this mark. */
export function pidOfReplica(name: string, machine: string): number | undefined {
  const [, pid, end] = /-(\d+)-([^-]+)@[^@]+$/.exec(name) ?? [];
  return machine !== "" && end?.startsWith(machine) ? Number(pid) : undefined;
}

/** The version of a replica; undefined if its name does not say it. */
export function versionOfReplica(name: string): string | undefined {
  return /@([^@]+)$/.exec(name)?.[1];
}
