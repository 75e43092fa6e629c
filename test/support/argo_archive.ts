/** An archive as the reference keeps it, filled with finished workflows. */
import type { JsonObject } from "../../src/base/json.ts";
import type { DatabaseName, DatabaseServer } from "./database_server.ts";

const TYPES = {
  // The driver would write a text as a JSON string.
  postgres: { json: "jsonb", time: "timestamp without time zone", given: "?::text::jsonb" },
  mariadb: { json: "json", time: "timestamp null", given: "?" },
} as const;
/** Rows of one insertion. */
const BATCH = 100;
const PHASES = ["Succeeded", "Failed", "Error"] as const;

/** Makes the tables of the reference. */
export async function createArchive(
  { database }: DatabaseServer,
  name: DatabaseName,
): Promise<void> {
  const { json, time } = TYPES[name];
  await database.query(
    `create table argo_archived_workflows (
      clustername varchar(64) not null, uid varchar(128) not null, instanceid varchar(64) not null,
      name varchar(256) not null, phase varchar(25) not null, namespace varchar(256) not null,
      workflow ${json} not null, startedat ${time}, finishedat ${time}, creationtimestamp ${time},
      primary key (clustername, uid))`,
    [],
  );
  await database.query(
    `create table argo_workflows (
      clustername varchar(64) not null, uid varchar(128) not null, version varchar(64) not null,
      namespace varchar(256) not null, nodes ${json} not null, updatedat ${time},
      primary key (clustername, uid, version))`,
    [],
  );
}

/** Fills the archive with workflows of `finishedWorkflow(0 … count - 1)`. */
export async function fillArchive(
  { database }: DatabaseServer,
  name: DatabaseName,
  count: number,
  startedAt: number,
): Promise<void> {
  for (let first = 0; first < count; first += BATCH) {
    const batch = Array.from(
      { length: Math.min(BATCH, count - first) },
      (_, index) => finishedWorkflow(first + index, startedAt),
    );
    const rows = batch.map(() => `('default', ?, '', ?, ?, ?, ${TYPES[name].given})`).join(", ");
    await database.query(
      `insert into argo_archived_workflows
       (clustername, uid, instanceid, name, phase, namespace, workflow) values ${rows}`,
      batch.flatMap((workflow) => [
        workflow.metadata.uid,
        workflow.metadata.name,
        workflow.status.phase,
        workflow.metadata.namespace,
        JSON.stringify(workflow),
      ]),
    );
  }
}

type FinishedWorkflow = JsonObject & {
  metadata: JsonObject & { uid: string; name: string; namespace: string };
  status: JsonObject & { phase: string; nodes: JsonObject };
};

/** One in a hundred is of a small team. */
function teamOf(index: number): string {
  if (index % 100 === 5) return "team-c";
  return index % 3 === 0 ? "team-a" : "team-b";
}

/** A workflow as the reference archives it: about 6 kB, in each hundredth one 60 kB of nodes. */
export function finishedWorkflow(index: number, startedAt: number): FinishedWorkflow {
  const at = (seconds: number) =>
    new Date(startedAt + (index + seconds) * 1_000).toISOString().replace(/\.\d+Z$/, "Z");
  const name = `etl-${index}`;
  const phase = PHASES[index % 10 < 8 ? 0 : index % 10 - 7] ?? "Succeeded";
  const steps = index % 100 === 0 ? 100 : 8;
  const nodes: JsonObject = {
    [name]: {
      id: name,
      name,
      displayName: name,
      type: "DAG",
      phase,
      templateName: "main",
      startedAt: at(0),
      finishedAt: at(60),
      children: Array.from({ length: steps }, (_, step) => `${name}-${step}`),
    },
  };
  for (let step = 0; step < steps; step++) {
    nodes[`${name}-${step}`] = {
      id: `${name}-${step}`,
      name: `${name}.step-${step}`,
      displayName: `step-${step}`,
      type: "Pod",
      phase: step === 0 ? phase : "Succeeded",
      boundaryID: name,
      templateName: "work",
      startedAt: at(step),
      finishedAt: at(step + 1),
      hostNodeName: "node-1",
      resourcesDuration: { cpu: 1, memory: 12 },
      inputs: { parameters: [{ name: "n", value: `${index} ${step} ${"x".repeat(300)}` }] },
      outputs: { exitCode: step === 0 && phase !== "Succeeded" ? "1" : "0" },
    };
  }
  return {
    apiVersion: "argoproj.io/v1alpha1",
    kind: "Workflow",
    metadata: {
      name,
      namespace: teamOf(index),
      uid: `${String(index).padStart(8, "0")}-1111-4222-8333-444444444444`,
      resourceVersion: String(10_000 + index),
      generation: 5,
      creationTimestamp: at(0),
      labels: {
        "workflows.argoproj.io/completed": "true",
        "workflows.argoproj.io/phase": phase,
        "workflows.argoproj.io/workflow-archiving-status": "Pending",
        app: `app-${index % 7}`,
      },
      managedFields: [{ manager: "argo", operation: "Update" }],
    },
    spec: {
      entrypoint: "main",
      arguments: { parameters: [{ name: "n", value: String(index) }] },
      templates: [
        {
          name: "main",
          dag: {
            tasks: Array.from({ length: 4 }, (_, step) => ({
              name: `step-${step}`,
              template: "work",
            })),
          },
        },
        { name: "work", container: { image: "busybox", command: ["true"] } },
      ],
    },
    status: { phase, startedAt: at(0), finishedAt: at(60), progress: `${steps}/${steps}`, nodes },
  };
}
