/**
 * An upgrade from an earlier commit to this checkout, and back, while workflows wait, pods run and events come: the chart,
 * the image and the command line of both. The earlier one gets another version, so that each can tell what the others are.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import type { Cluster } from "./cluster.ts";
import { run } from "./cluster.ts";
import { job } from "./async_jobs.ts";
import { examine } from "./doctor.ts";
import { eventsDuring, type EventsSetting } from "./events.ts";
import { architecture, BOX_IMAGE } from "./images.ts";
import { PodEvents } from "./pod_events.ts";
import { CONTAINER_SECURITY, POD_SECURITY, Release } from "./release.ts";
import { must, type Transcript, until } from "./transcript.ts";

const TAG = "earlier";
const VERSION = "0.0.0-earlier";
const WAITING = 6;
/** Seconds that the pod runs which is begun before the upgrade. */
const POD_SECONDS = 40;

/** The files of an earlier commit with its image, which the cluster has. */
interface Earlier {
  folder: string;
  commit: string;
}

function makeEarlier(cluster: Cluster, revision: string): Earlier {
  const commit = run(["git", "rev-parse", "--short", revision]).trim();
  const folder = mkdtempSync(join(tmpdir(), "sluice-earlier-"));
  execFileSync("sh", ["-c", `git archive ${commit} | tar -x -C '${folder}'`]);
  const file = join(folder, "src/base/version.ts");
  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.replace(/VERSION = ".*"/, `VERSION = "${VERSION}"`));
  const archive = join(folder, "sluice.tar");
  const build = ["tools/image.ts", archive, `sluice:${TAG}`, "--arch", architecture()];
  execFileSync(process.execPath, ["run", "-A", ...build], { cwd: folder, stdio: "ignore" });
  cluster.load([archive]);
  return { folder, commit };
}

/** Runs the step; returns what it saw. @throws {Error} if anything is lost, doubled, or not told */
export async function upgradeAndBack(
  cluster: Cluster,
  { revision, values }: { revision: string; values: readonly string[] },
  setting: EventsSetting,
  transcript: Transcript,
): Promise<string> {
  const earlier = makeEarlier(cluster, revision);
  transcript.say(`  image of ${earlier.commit} built`);
  const release = new Release(cluster);
  const pods = new PodEvents(cluster.client, release.namespace);
  let takeBack = () => Promise.resolve();
  try {
    await release.prepare();
    takeBack = await release.letExamine();
    await release.install([...values, `image.tag=${TAG}`], join(earlier.folder, "helm/sluice"));
    await pods.start();
    const ledger = await eventsDuring(
      () => walk(release, pods, transcript),
      release,
      setting,
      transcript,
    );
    release.helm("uninstall", release.name, "--wait", "--timeout", "2m");
    return `from ${earlier.commit} and back: ${WAITING} waiting jobs and a running pod went on, each pod once; doctor told both versions; ${ledger}`;
  } finally {
    pods.stop();
    await takeBack();
    release.helm("uninstall", release.name, "--ignore-not-found");
    await release.remove();
    rmSync(earlier.folder, { recursive: true, force: true });
  }
}

/** Up, and back. */
async function walk(release: Release, pods: PodEvents, transcript: Transcript): Promise<void> {
  const old = Array.from({ length: WAITING }, (_, index) => `old-${index}`);
  for (const name of old) await release.submit(job(name));
  const ids = new Map(await Promise.all(old.map(async (name) => await waitOf(release, name))));
  await release.submit(longPod("long"));
  await tells(release, "version", `the server is ${VERSION}`);

  transcript.say("  upgrade rolls");
  let isRolling = true;
  const rolled = release.upgradeChart("image.tag=0.1.0").finally(() => (isRolling = false));
  rolled.catch(() => {});
  let seen = "";
  while (isRolling && seen === "") {
    const { findings } = await examine(release).catch(() => ({ findings: [] }));
    const replicas = findings.find(({ check, status }) =>
      check === "replicas" && status === "warning"
    );
    if (replicas?.message.includes(VERSION)) seen = replicas.message;
  }
  await rolled;
  must(seen !== "", "doctor did not tell that two versions ran at the same time");
  transcript.say(`  upgrade done; doctor told meanwhile: ${seen}`);
  await tells(release, "version", "server and command line are");
  await until("one version", 30, async () => {
    const { findings } = await examine(release);
    return findings.find(({ check, status }) => check === "replicas" && status === "ok");
  });

  // What waited goes on under the new version; what it begins waits for the old one.
  const [first = "", ...others] = old;
  await resumed(release, first, ids.get(first) ?? "");
  for (const name of ["new-0", "new-1"]) {
    await release.submit(job(name));
    ids.set(...await waitOf(release, name));
  }
  transcript.say("  rolling back");
  await release.rollback();
  transcript.say("  rolled back");
  await tells(release, "version", `the server is ${VERSION}`);
  for (const name of [...others, "new-0", "new-1"]) {
    await resumed(release, name, ids.get(name) ?? "");
  }
  const long = await release.ended("long", 90);
  must(long.status?.phase === "Succeeded", `the long pod's workflow is ${long.status?.phase}`);
  for (const name of [...ids.keys(), "long"]) {
    const count = pods.of(name).length;
    must(count === 1, `${name} had ${count} pods`);
  }
}

async function tells(release: Release, check: string, text: string): Promise<void> {
  const { findings } = await examine(release);
  const found = findings.find((one) => one.check === check)?.message ?? "nothing";
  must(found.includes(text), `doctor says of ${check}: ${found}`);
}

/** The name of a job, and the id of its node that waits, once it does. */
function waitOf(release: Release, name: string): Promise<[string, string]> {
  return until(`wait of ${name}`, 90, async () => {
    const { status } = await release.workflow(name);
    const nodes = Object.values(status?.nodes ?? {});
    const id = nodes.find(({ type, phase }) => type === "Suspend" && phase === "Running")?.id;
    return id === undefined ? undefined : [name, id];
  });
}

/** Resumes the very node that has waited. */
async function resumed(release: Release, name: string, id: string): Promise<void> {
  const [, now] = await waitOf(release, name);
  must(now === id, `${name} waits in ${now}, not in ${id}`);
  const path = `/api/v1/workflows/${release.namespace}/${name}/resume`;
  await release.call("PUT", path, {
    nodeFieldSelector: `inputs.parameters.uuid.value=uuid-of-${name}`,
  });
  const { status } = await release.ended(name, 30);
  must(status?.phase === "Succeeded", `${name} is ${status?.phase}: ${status?.message ?? ""}`);
}

function longPod(name: string) {
  return {
    metadata: { name },
    spec: {
      entrypoint: "main",
      securityContext: POD_SECURITY,
      templates: [{
        name: "main",
        container: {
          image: BOX_IMAGE,
          command: ["/bin/sleep", String(POD_SECONDS)],
          securityContext: CONTAINER_SECURITY,
        },
      }],
    },
  };
}
