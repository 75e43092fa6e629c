/**
 * What `sluice doctor` asks a server: whether what it stands on is as it should be. Each finding that is not good says what to
 * do. A check that fails is a finding, never an error.
 */
import { Buffer } from "node:buffer";
import { Readable } from "node:stream";
import type { ReplicaReport } from "../actors/port.ts";
import type { Caller } from "../auth/port.ts";
import { errorText } from "../base/error_text.ts";
import { versionOfReplica } from "../base/replica_name.ts";
import { type MissingRight, ruleOf } from "../kubernetes/needed_rights.ts";
import { type Artifact, ManifestKind, type Subscription } from "../spec/manifest.ts";
import {
  checkSubscribedNamespaces,
  validateSubscription,
} from "../spec/validation/subscription.ts";
import { manifestObject } from "../store/manifest_object.ts";
import { requireAccess } from "./access.ts";
import type { ServiceDeps, Surroundings } from "./deps.ts";
import { createStoredConfig } from "./manifests/stored_config.ts";
import { webhookSecretFault } from "./events/webhook_senders.ts";
import { type Naming, WEBHOOK_SECRET } from "../spec/naming.ts";

export type FindingStatus = "ok" | "warning" | "failed" | "skipped";

export interface Finding {
  check: string;
  status: FindingStatus;
  message: string;
  /** What to do; absent where there is nothing to do. */
  advice?: string;
}

export interface Examination {
  /** The server's version. */
  version: string;
  /** This machine's time of day, epoch ms. */
  time: number;
  findings: Finding[];
}

/** How long one check may take, ms. */
const CHECK_MS = 10_000;
/** A store that takes longer to answer slows every request, ms. */
const SLOW_STORE_MS = 100;
/** A machine's clock may be off by this much, ms. */
const MAX_SKEW_MS = 1_000;
/** Namespaces whose webhook secrets are read. */
const MAX_NAMESPACES = 500;
/** Subscriptions whose secrets are read. */
const MAX_SUBSCRIPTIONS = 500;
/** Namespace of the artifact that is written and removed. */
const PROBE_NAMESPACE = "default";

type Outcome = Omit<Finding, "check">;
/** Several outcomes: each is a finding of its own. */
type Outcomes = Outcome | Outcome[];
type Check = (deps: ServiceDeps, surroundings: Surroundings) => Promise<Outcomes> | Outcomes;

const CHECKS: Record<string, Check> = {
  store: checkStore,
  durability: checkDurability,
  archive: checkArchive,
  clock: checkClock,
  replicas: checkReplicas,
  cluster: checkCluster,
  artifacts: checkArtifacts,
  webhooks: checkWebhooks,
  subscriptions: checkSubscriptions,
};

/** @throws {Problem} PermissionDenied unless the caller may create workflows in every namespace */
export async function examine(deps: ServiceDeps, caller: Caller): Promise<Examination> {
  await requireAccess(caller, { verb: "create", resource: "workflows", namespace: "" });
  const { surroundings, clock, settings } = deps;
  const findings = await Promise.all(
    Object.entries(CHECKS).map(async ([check, run]): Promise<Finding[]> => {
      if (surroundings === undefined) {
        const message = "this server does not know its surroundings";
        return [{ check, status: "skipped", message }];
      }
      const over = new AbortController();
      const late = clock.sleep(CHECK_MS, over.signal).then((): Outcome =>
        bad(`no answer within ${CHECK_MS / 1000} s`, "see whether it is up and can be reached")
      );
      const done = Promise.resolve().then(() => run(deps, surroundings)).catch((cause) =>
        bad(errorText(cause), "see the server's log for the cause")
      );
      const outcomes = [await Promise.race([done, late])].flat();
      over.abort();
      return outcomes.map((outcome) => ({ check, ...outcome }));
    }),
  );
  return {
    version: settings.build.version,
    time: surroundings?.machineTime() ?? clock.now(),
    findings: findings.flat(),
  };
}

function good(message: string): Outcome {
  return { status: "ok", message };
}

function warning(message: string, advice: string): Outcome {
  return { status: "warning", message, advice };
}

function bad(message: string, advice: string): Outcome {
  return { status: "failed", message, advice };
}

async function checkStore({ store, clock }: ServiceDeps, { writesRefused }: Surroundings) {
  const started = clock.monotonic();
  try {
    await store.ping();
  } catch (cause) {
    return bad(errorText(cause), "start the store, or correct --store");
  }
  const ms = Math.round(clock.monotonic() - started);
  const refusal = writesRefused();
  if (refusal !== undefined) {
    return bad(
      `it refuses writes: ${refusal}`,
      "give it memory or room on its disk; nothing is accepted meanwhile",
    );
  }
  return ms > SLOW_STORE_MS
    ? warning(`it took ${ms} ms to answer`, "bring server and store closer, or give it more room")
    : good(`it answers in ${ms} ms and takes writes`);
}

function checkDurability({ store }: ServiceDeps, { durability }: Surroundings): Outcome {
  const promised = store.durability?.() ?? "unknown";
  switch (promised) {
    case "always":
      return good("what was answered survives a power cut");
    case "everysec":
      return durability === "everysec"
        ? good("a power cut may cost the last second, as --durability everysec accepts")
        : bad(
          "a power cut may cost the last second, and --durability asks for always",
          "set appendfsync to always in Redis, or say --durability everysec",
        );
    case "none":
      return bad(
        "the store keeps nothing when it ends",
        "use sqlite:FOLDER, or set appendonly to yes and appendfsync to always in Redis",
      );
    case "unknown":
      return warning(
        "the store does not tell its settings",
        "see that it has appendonly yes and appendfsync always: managed services say so elsewhere",
      );
  }
}

async function checkArchive({ history }: ServiceDeps): Promise<Outcome> {
  if (history === undefined) return good("finished workflows stay in the store");
  try {
    await history.archive.ping();
  } catch (cause) {
    return bad(
      `it is away: ${errorText(cause)}`,
      "see that it is up and can be reached; until then finished workflows stay in the store",
    );
  }
  const trouble = history.trouble();
  return trouble === undefined
    ? good("it answers")
    : warning(`it took nothing lately: ${trouble}`, "see the server's log for the cause");
}

async function checkClock({ store, clock }: ServiceDeps, { machineTime }: Surroundings) {
  const started = clock.monotonic();
  const before = machineTime();
  const shared = await store.membership.now();
  const tookMs = clock.monotonic() - started;
  // The store read its clock at some time in between.
  const skew = Math.round(shared - before - tookMs / 2);
  const text = `this machine is ${Math.abs(skew)} ms ${skew > 0 ? "behind" : "ahead of"} the store`;
  return Math.abs(skew) > MAX_SKEW_MS + tookMs / 2
    ? warning(
      text,
      "run a time service (chrony, systemd-timesyncd) on both: timers follow the store's time",
    )
    : good(text);
}

/** Replicas that give labels and kinds other names. */
function otherwiseNamed(replicas: readonly ReplicaReport[], naming: Naming): string[] {
  return replicas.flatMap(({ replica, facts }) => {
    const { labelPrefix, apiGroup } = facts?.about ?? {};
    const isSame = labelPrefix === naming.labelPrefix && apiGroup === naming.apiGroup;
    return labelPrefix === undefined || isSame ? [] : `${replica} (${labelPrefix}, ${apiGroup})`;
  });
}

async function checkReplicas({ store, settings, host }: ServiceDeps): Promise<Outcome> {
  const names = await store.membership.replicas();
  const own = settings.build.version;
  const others = names.filter((name) => versionOfReplica(name) !== own);
  if (names.length === 0) {
    return bad(
      "none is known: not even this server could announce itself",
      "see whether the store takes writes, and the server's log",
    );
  }
  if (others.length === 0) {
    const strange = otherwiseNamed(await host.survey(), settings.naming);
    if (strange.length === 0) return good(`${names.length} of version ${own}`);
    const { labelPrefix, apiGroup } = settings.naming;
    return bad(
      `not all have --label-prefix ${labelPrefix} and --api-group ${apiGroup}: ${
        strange.join(", ")
      }`,
      "start all replicas with the same two: a workflow that ends under another prefix is listed as running",
    );
  }
  const shown = others.map((name) => `${name} (${versionOfReplica(name) ?? "unknown version"})`);
  return warning(
    `${names.length} replicas, of which not all have version ${own}: ${shown.join(", ")}`,
    "finish the update: run the same version everywhere",
  );
}

async function checkCluster(
  _deps: ServiceDeps,
  { missingRights }: Surroundings,
): Promise<Outcomes> {
  if (missingRights === undefined) {
    return { status: "skipped", message: "this server uses no cluster" };
  }
  const missing = await missingRights();
  return missing.length === 0
    ? good("the server has every right that it needs")
    : missing.map(missingRightOutcome);
}

function missingRightOutcome(right: MissingRight): Outcome {
  const { group, resource, verbs, namespace } = right;
  const kind = group === "" ? resource : `${resource}.${group}`;
  const place = namespace === "" ? "in all namespaces" : `in namespace ${namespace}`;
  const role = namespace === "" ? "a ClusterRole" : "a Role there";
  return bad(
    `the server may not ${verbs.join(", ")} ${kind} ${place}`,
    `let the chart make its roles (rbac.create), or add to ${role} of the server's service account: ${
      ruleOf(right)
    }`,
  );
}

async function checkArtifacts({ ids }: ServiceDeps, { artifacts }: Surroundings): Promise<Outcome> {
  const text = ids.uuid();
  const scope = { namespace: PROBE_NAMESPACE };
  const artifact: Artifact = {
    name: "doctor",
    s3: { key: `${PROBE_NAMESPACE}/sluice-doctor-${text}` },
    archive: { none: {} },
  };
  try {
    await artifacts.write(artifact, Readable.from([Buffer.from(text)]), scope);
    try {
      const content = await artifacts.open(artifact, scope);
      if (content === undefined) throw new Error("what was written is not there");
      content.body.destroy();
    } finally {
      await artifacts.remove(artifact, scope);
    }
  } catch (cause) {
    return bad(
      errorText(cause),
      "correct --artifacts, or grant its key the rights to read, write and remove objects",
    );
  }
  return good("an artifact was written, read and removed");
}

async function checkWebhooks(deps: ServiceDeps): Promise<Outcome> {
  const { items } = await deps.store.manifests.list(ManifestKind.WorkflowEventBinding, {
    limit: MAX_NAMESPACES,
  });
  const namespaces = [...new Set(items.map(({ namespace }) => namespace))];
  const faults: string[] = [];
  for (const namespace of namespaces) {
    const fault = await webhookSecretFault(deps, namespace);
    if (fault !== undefined) faults.push(`${namespace}: ${fault}`);
  }
  return faults.length === 0
    ? good(`the senders of ${counted(namespaces.length, "namespace")} with bindings can be read`)
    : bad(faults.join("; "), `repair the secret ${WEBHOOK_SECRET} there; its events are refused`);
}

async function checkSubscriptions({ store, settings }: ServiceDeps): Promise<Outcome> {
  const { items } = await store.manifests.list(ManifestKind.Subscription, {
    limit: MAX_SUBSCRIPTIONS,
  });
  const config = createStoredConfig(store);
  const faults: string[] = [];
  for (const stored of items) {
    const { namespace, name } = stored;
    try {
      const { metadata, spec } = manifestObject<Subscription>(stored);
      validateSubscription({ metadata, spec });
      checkSubscribedNamespaces({ spec }, namespace, settings.webhookAdminNamespace);
      const { name: secret = "", key } = spec.secret;
      const text = (await config.secret(namespace, secret))?.[key] ?? "";
      if (text === "") faults.push(`${namespace}/${name}: Secret ${secret} has no key ${key}`);
    } catch (error) {
      faults.push(`${namespace}/${name}: ${errorText(error)}`);
    }
  }
  return faults.length === 0
    ? good(`${counted(items.length, "subscription")} can be signed`)
    : bad(faults.join("; "), "correct them or their secrets; until then nothing is delivered");
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
