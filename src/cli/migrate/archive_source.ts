/** The archive of an installation: the table `argo_archived_workflows` of its database, which is only read. */
import { errorText } from "../../base/error_text.ts";
import { isJsonObject, type JsonObject } from "../../base/json.ts";
import { NUL_TEXT } from "../../spec/archived_text.ts";
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

/** A row that cannot be read, while the others can. */
export class UnreadableRow extends Error {}

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

  /** How many workflows a selection has. @throws {Error} with advice when there is no archive */
  async count(selection: Selection): Promise<number> {
    const { terms, values } = this.#terms(selection);
    const text = `select count(*) as total from ${TABLE} where ${terms}`;
    try {
      const [row] = await this.#database.query(text, values);
      return Number(row?.["total"] ?? 0);
    } catch (error) {
      const advice = "--archive takes the database that `persistence` of the controller names";
      throw new Error(`The archive cannot be read: ${errorText(error)} (${advice})`);
    }
  }

  /** The name of a cluster that has workflows here, if the chosen one has none. */
  async otherCluster(): Promise<string | undefined> {
    const query = `select clustername from ${TABLE}`;
    const { clusterName } = this.#access;
    const own = await this.#database.query(`${query} where clustername = ? limit 1`, [clusterName]);
    const [other] = own.length > 0 ? [] : await this.#database.query(`${query} limit 1`, []);
    return other?.["clustername"] ?? undefined;
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

  /** A workflow; undefined when it is no longer there. @throws {UnreadableRow} */
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
    const { clusterName, nodesTable } = this.#access;
    try {
      const [row] = await query(
        `select ${jsonText("nodes")} as text from ${nodesTable}
         where clustername = ? and uid = ? and version = ?`,
        [clusterName, uid, version],
      );
      return row && objectOf(row, "nodes");
    } catch (error) {
      const advice = "--archive-nodes-table names the table";
      throw new Error(`its nodes cannot be read: ${errorText(error)} (${advice})`);
    }
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

/** @throws {UnreadableRow} */
function objectOf({ text }: Row, column: string): JsonObject {
  if (typeof text !== "string") {
    throw new UnreadableRow(
      `its column ${column} has no text: it may be longer than max_allowed_packet of the database`,
    );
  }
  let value: unknown;
  try {
    value = JSON.parse(text.replaceAll(NUL_TEXT, "\\u0000"));
  } catch (error) {
    throw new UnreadableRow(`its column ${column} holds no JSON: ${errorText(error)}`);
  }
  if (!isJsonObject(value)) throw new UnreadableRow(`its column ${column} holds no object`);
  return value;
}
