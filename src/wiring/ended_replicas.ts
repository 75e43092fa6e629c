/** What replicas of this machine left behind that were killed. */
import { pidOfReplica } from "../base/replica_name.ts";
import type { Logger } from "../platform/log.ts";
import { isRunning, machineMark } from "../platform/process/own_machine.ts";
import type { Membership } from "../store/port.ts";

/**
 * Frees the leases of replicas whose processes ran on this machine and are gone, so that a server that is started again does
 * not wait until they run out. Never rejects: if it fails, they do run out.
 */
export async function leaveForEnded(
  membership: Pick<Membership, "replicas" | "leave">,
  log: Pick<Logger, "info" | "warn">,
): Promise<void> {
  const machine = machineMark();
  try {
    for (const replica of await membership.replicas()) {
      const pid = pidOfReplica(replica, machine);
      if (pid === undefined || isRunning(pid)) continue;
      await membership.leave(replica);
      log.info({ replica }, "an earlier replica of this machine has ended, its leases are free");
    }
  } catch (cause) {
    log.warn({ err: cause }, "the leases of earlier replicas of this machine will run out");
  }
}
