/** Templates, cron workflows, bindings and ConfigMaps: read, assessed together, and imported in an order that suits them. */
import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { inNewForm } from "../../spec/older_forms.ts";
import { KINDS } from "../../spec/schema/decode_manifest.ts";
import { metadataOf } from "../manifests.ts";
import { byHand } from "./by_hand.ts";
import { assess, type Assessment, type ExecutorName } from "./check.ts";
import { controllerSettings } from "./controller_settings.ts";
import { namedConfigMaps, unplacedConfigMaps } from "./named_config_maps.ts";
import type { Progress } from "./progress.ts";
import { objectReport, type Report } from "./report.ts";
import { CONFIG_TYPE_LABEL, type Source } from "./source.ts";
import type { Outcome, Target } from "./target.ts";

/** Most manifests. They are held in memory together, because templates refer to each other. */
const MAX_MANIFESTS = 20_000;

/** A manifest, what is thought of it, and what was done with it. */
interface Entry {
  object: JsonObject;
  assessment: Assessment;
  outcome?: Outcome;
}

export interface ManifestImport {
  source: Source;
  /** Name of the ConfigMap with the settings of the controller. */
  controllerConfig: string;
  /** Absent: no server is asked. */
  target: Target | undefined;
  executor: ExecutorName;
  isDryRun: boolean;
  report: Report;
  progress: Progress;
}

/** Imports all manifests of a source, or says what would become of them. */
export async function importManifests(run: ManifestImport): Promise<void> {
  const { target, report } = run;
  const renewed = (await readManifests(run)).map(inNewForm);
  const manifests = renewed.map(({ manifest }) => manifest);
  const assessments = assess(manifests, run.executor);
  const configMaps = new Set(
    manifests.filter(({ kind }) => kind === "ConfigMap").map((one) =>
      String(metadataOf(one)["name"])
    ),
  );
  const entries = renewed.map(({ manifest, older }, index): Entry => {
    const found = cacheNote(manifest) ?? assessments[index] ?? { verdict: "works", notes: [] };
    const forms = older.map(({ path, now }) => ({ path, text: `imported as ${now}` }));
    const unplaced = unplacedConfigMaps(manifest, configMaps).map((name) => ({
      path: `ConfigMap ${name}`,
      text: "nothing that was read uses this template: bring it along into the namespaces that do",
    }));
    const verdict = found.verdict === "works" && unplaced.length > 0 ? "partly" : found.verdict;
    const notes = [...found.notes, ...unplaced, ...forms];
    return { object: manifest, assessment: { ...found, verdict, notes } };
  });
  if (target !== undefined) await place(entries, target, run);
  for (const entry of entries) report.add(reportOf(entry, run.isDryRun));
  await tellByHand(run);
}

/** Tells what nobody but the user can bring along. */
async function tellByHand({ source, report }: ManifestImport): Promise<void> {
  for await (const page of source.accounts()) {
    for (const object of page) {
      const reason = byHand(object);
      if (reason === undefined) continue;
      const { namespace = "", name = "" } = metadataOf(object);
      report.add({
        kind: String(object["kind"]),
        namespace: String(namespace),
        name: String(name),
        verdict: "left",
        reason,
      });
    }
  }
}

/** All manifests, each after those to which it may refer. */
async function readManifests(
  { source, report, controllerConfig }: ManifestImport,
): Promise<JsonObject[]> {
  const objects = new Map<string, JsonObject>();
  const add = (object: JsonObject) => {
    if (objects.size >= MAX_MANIFESTS) {
      throw new Error(`There are more than ${MAX_MANIFESTS} manifests: use -n for one namespace`);
    }
    const key = keyOf(object);
    const known = objects.get(key);
    // A list of the cluster may show a ConfigMap a second time, as it is.
    if (known !== undefined && !isDeepStrictEqual(known, object)) {
      report.trouble(key, "there are several that differ; only the last one counts");
    }
    objects.set(key, object);
  };
  for await (const page of source.manifests()) {
    for (const object of page) {
      if (metadataOf(object)["name"] === controllerConfig && object["kind"] === "ConfigMap") {
        report.settings(controllerSettings(object));
      } else add(object);
    }
  }
  for (const place of namedConfigMaps([...objects.values()])) {
    if (objects.has(`ConfigMap/${place}`)) continue;
    const [namespace = "", name = ""] = place.split("/");
    const found = await source.configMap(namespace, name);
    if (found !== undefined) add(found);
  }
  const order = (object: JsonObject) => KINDS.findIndex((kind) => kind === object["kind"]);
  return [...objects.values()].sort((a, b) => order(a) - order(b));
}

function keyOf(object: JsonObject): string {
  const { namespace = "", name = "" } = metadataOf(object);
  return `${String(object["kind"])}/${String(namespace)}/${String(name)}`;
}

/** A memoization cache is not imported: it would answer for steps that have never run here. */
function cacheNote(object: JsonObject): Assessment | undefined {
  const { labels } = metadataOf(object);
  const isCache = object["kind"] === "ConfigMap" && isJsonObject(labels) &&
    labels[CONFIG_TYPE_LABEL] === "Cache";
  if (!isCache) return undefined;
  return { verdict: "left", reason: "a memoization cache begins empty here", notes: [] };
}

/** Imports, and tries again what was refused as long as that helps: a template may refer to one that comes later. */
async function place(entries: readonly Entry[], target: Target, run: ManifestImport) {
  const { isDryRun, progress } = run;
  let open = entries.filter(({ assessment: { verdict } }) =>
    verdict !== "left" && !(isDryRun && verdict === "refused")
  );
  let done = 0;
  for (let before = open.length + 1; open.length < before && open.length > 0;) {
    before = open.length;
    const refused: Entry[] = [];
    for (const entry of open) {
      entry.outcome = await target.manifest(entry.object);
      if (entry.outcome.outcome === "refused") refused.push(entry);
      else progress.show(++done, entries.length, "manifests");
    }
    // A dry run changes nothing, so a second look would see the same.
    open = isDryRun ? [] : refused;
  }
  progress.clear();
}

function reportOf({ object, assessment, outcome }: Entry, isDryRun: boolean) {
  const { namespace, name } = metadataOf(object);
  const { notes } = assessment;
  const isTaken = outcome !== undefined && outcome.outcome !== "refused" && !isDryRun;
  // The server knows templates that the installation does not have.
  const wasRefused = isTaken && assessment.verdict === "refused";
  const verdict = outcome?.outcome === "refused"
    ? "refused"
    : wasRefused
    ? (notes.length > 0 ? "partly" : "works")
    : assessment.verdict;
  return objectReport({
    kind: String(object["kind"]),
    namespace: namespace === undefined ? undefined : String(namespace),
    name: String(name ?? ""),
    uid: undefined,
    verdict,
    outcome: outcome?.outcome,
    reason: outcome?.message ??
      (verdict === "refused" || verdict === "left" ? assessment.reason : undefined),
    notes: notes.length > 0 ? notes : undefined,
  });
}
