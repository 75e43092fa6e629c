/** The archive of an installation: the table `argo_archived_workflows` of its database, which is only read. */
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { UsageError } from "../context.ts";
import type { Selection } from "./source.ts";
import { type Database, openDatabase, type Row } from "./sql.ts";

/** Rows whose keys are read at a time. Workflows are read one by one. */
const PAGE = 500;
/** Rows of the archive. */
const TABLE = "argo_archived_workflows";

export interface ArchiveAccess {
  address: string;
  /** `persistence.clusterName` of the controller. */
  clusterName: string;
  /** Table of the nodes that did not fit into their Workflow object: `persistence.…tableName`. */
  nodesTable: string;
}

export class Archive {
  readonly #database: Database;
  readonly #access: ArchiveAccess;

  private constructor(database: Database, access: ArchiveAccess) {
    this.#database = database;
    this.#access = access;
  }

  /** Opens an archive. Nothing is sent before the first query. @throws {UsageError} */
  static async open(access: ArchiveAccess): Promise<Archive> {
    if (!/^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(access.nodesTable)) {
      throw new UsageError("--archive-nodes-table takes the name of a table");
    }
    return new Archive(await openDatabase(access.address), access);
  }

  /** How many workflows a selection has. */
  async count(selection: Selection): Promise<number> {
    const { terms, values } = this.#terms(selection);
    const text = `select count(*) as total from ${TABLE} where ${terms}`;
    const [row] = await this.#database.query(text, values);
    return Number(row?.["total"] ?? 0);
  }

  /** The uids of a selection in pages, by the order of the primary key. */
  async *uids(selection: Selection): AsyncGenerator<string[]> {
    const { terms, values } = this.#terms(selection);
    let last = "";
    for (;;) {
      const rows = await this.#database.query(
        `select uid from ${TABLE} where ${terms} and uid > ? order by uid limit ${PAGE}`,
        [...values, last],
      );
      if (rows.length === 0) return;
      yield rows.map(uidOf);
      last = uidOf(rows.at(-1));
    }
  }

  /** A workflow; undefined when it is no longer there. @throws {Error} when it cannot be read */
  async workflow(uid: string): Promise<JsonObject | undefined> {
    const { query, jsonText } = this.#database;
    const [row] = await query(
      `select ${jsonText("workflow")} as text from ${TABLE} where clustername = ? and uid = ?`,
      [this.#access.clusterName, uid],
    );
    return row === undefined ? undefined : { ...objectOf(row, "workflow"), kind: "Workflow" };
  }

  /** Nodes that did not fit into a Workflow object; undefined when they are no longer there. */
  async nodes(uid: string, version: string): Promise<JsonObject | undefined> {
    const { query, jsonText } = this.#database;
    const [row] = await query(
      `select ${jsonText("nodes")} as text from ${this.#access.nodesTable}
       where clustername = ? and uid = ? and version = ?`,
      [this.#access.clusterName, uid, version],
    );
    return row && objectOf(row, "nodes");
  }

  close(): Promise<void> {
    return this.#database.close();
  }

  #terms({ namespace, instanceId }: Selection): { terms: string; values: string[] } {
    const terms = { clustername: this.#access.clusterName, namespace, instanceid: instanceId };
    const given = Object.entries(terms).filter((term): term is [string, string] =>
      term[1] !== undefined
    );
    return {
      terms: given.map(([column]) => `${column} = ?`).join(" and "),
      values: given.map(([, value]) => value),
    };
  }
}

function uidOf(row: Row | undefined): string {
  return String(row?.["uid"] ?? "");
}

function objectOf({ text }: Row, column: string): JsonObject {
  const value: unknown = JSON.parse(text ?? "");
  if (!isJsonObject(value)) throw new Error(`its column ${column} holds no object`);
  return value;
}
