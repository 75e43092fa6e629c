/** One archive for two systems: rows of the reference are read, ours are as it writes them; trouble with the database. */
import { randomBytes } from "node:crypto";
import process from "node:process";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import {
  openPostgresArchive,
  type PostgresArchive,
  type PostgresArchiveOptions,
} from "../../../src/archive/postgres/archive.ts";
import { Connections } from "../../../src/archive/postgres/connection.ts";
import { loadRows } from "../../../src/archive/postgres/objects.ts";
import { ProblemCode } from "../../../src/base/problem.ts";
import { parseLabelSelector } from "../../../src/expr/selectors/label_selector.ts";
import {
  databaseMissing,
  type DatabaseServer,
  startDatabase,
} from "../../support/database_server.ts";
import { type Database, openDatabase } from "../../../src/cli/migrate/sql.ts";
import {
  createReferenceTables,
  type ReferenceRow,
  referenceRow,
  writeReferenceRows,
} from "../../support/reference_archive.ts";
import { DAY_MS, NOON, rowOf, uidsOf, walk } from "./archive_setting.ts";

/** Rows of the varied archive. */
const ROWS = Number(process.env["SLUICE_ARCHIVE_ROWS"] ?? 2_000);
/** A busy machine takes long for ten thousand. */
const LONG_MS = 300_000;

const missing = databaseMissing("postgres");

describe.skipIf(missing !== undefined)(`a shared archive${missing ? ` (${missing})` : ""}`, () => {
  let server: DatabaseServer;
  let database: Database;
  let url: string;
  const opened: PostgresArchive[] = [];
  beforeAll(async () => {
    server = await startDatabase("postgres");
  });
  afterAll(() => server?.stop());
  afterEach(async () => {
    for (const archive of opened.splice(0)) await archive.close();
    await database?.close();
  });

  let databases = 0;
  /** An empty database, which the tests' own connection is to. */
  async function emptyDatabase(): Promise<void> {
    const name = `archive_${++databases}`;
    await server.database.query(`create database ${name}`, []);
    url = server.url.replace(/\/postgres$/, `/${name}`);
    database = await openDatabase(url, true);
  }

  function open(options: Partial<PostgresArchiveOptions> = {}): PostgresArchive {
    const archive = openPostgresArchive({
      url,
      indexedParameters: ["region"],
      looksAfterOthers: false,
      ...options,
    });
    opened.push(archive);
    return archive;
  }

  async function one(sql: string): Promise<Record<string, string | null>> {
    return (await database.query(sql, []))[0] ?? {};
  }

  /** How often all rows of the reference have been looked at. */
  const rounds = async () =>
    Number((await one("select max(sweeps)::text as rounds from sluice_archive_scope"))["rounds"]);

  const rowsOf = (count: number, from = 0) =>
    Array.from({ length: count }, (_, index) => referenceRow(from + index, NOON));
  const ours = (rows: ReferenceRow[]) => rows.filter(({ instanceId }) => instanceId === "");
  const inOrder = (rows: ReferenceRow[]) => {
    const placeOf = ({ createdAt, namespace, name, uid }: ReferenceRow) =>
      [createdAt, `${namespace}/${name}`, uid].join("\0");
    return rows.toSorted((a, b) => placeOf(a) < placeOf(b) ? 1 : -1);
  };

  test(`has ${ROWS} rows of the reference, each as its API shows it`, async () => {
    await emptyDatabase();
    await createReferenceTables(database);
    const rows = rowsOf(ROWS);
    await writeReferenceRows(database, rows);
    const archive = open();
    // Two replicas at once.
    await Promise.all([archive.fill(), open().fill()]);
    const expected = inOrder(ours(rows));
    const read = await walk(archive, {}, 500);
    expect(uidsOf(read)).toEqual(uidsOf(expected));
    read.forEach((row, index) => {
      const { shown, stored: _stored, instanceId: _id, ...entry } = expected[index] ??
        referenceRow(0, 0);
      const parameters = { region: Number(row.uid.slice(-12)) % 2 === 0 ? "eu" : "us" };
      const { object, ...rest } = row;
      expect(rest).toEqual({ ...entry, edition: 0, parameters });
      expect(JSON.parse(object)).toEqual(shown);
    });
    const selects = (of: ReferenceRow) => of.labels["app"] === "app-3" && of.phase === "Failed";
    const failed = await walk(archive, {
      labels: parseLabelSelector("app=app-3"),
      phases: ["Failed"],
    }, 7);
    expect(uidsOf(failed)).toEqual(uidsOf(expected.filter(selects)));
    const days = await archive.dayCounts("2026-03-01", "2026-03-02");
    expect(days.reduce((sum, { count }) => sum + count, 0)).toBe(expected.length);
    expect([...new Set(days.map(({ template }) => template))].sort())
      .toEqual(["", "cluster/etl", "namespaced/etl"]);
    expect(await rounds()).toBe(2);
    expect(await walk(open({ instanceId: "other" }), {}, 100)).toEqual([]);
  }, LONG_MS);

  test("shows what the reference writes, replaces and deletes later", async () => {
    await emptyDatabase();
    await createReferenceTables(database);
    const rows = ours(rowsOf(100)).slice(0, 50);
    await writeReferenceRows(database, rows);
    const archive = open();
    await archive.fill();
    const [gone, replaced, ...others] = rows;
    if (gone === undefined || replaced === undefined) throw new Error("no rows");
    await database.query("delete from argo_archived_workflows where uid = ?", [gone.uid]);
    const again = { ...replaced, phase: "Error", finishedAt: replaced.finishedAt + DAY_MS };
    await writeReferenceRows(database, [again, ...ours(rowsOf(20, 100))]);
    // What is deleted is not shown even before it is looked for; what is new is found by its uid.
    expect(uidsOf(await walk(archive, {}, 7))).not.toContain(gone.uid);
    expect(await archive.get(gone.uid)).toBeUndefined();
    const [fresh] = ours(rowsOf(20, 100));
    expect(await archive.get(fresh?.uid ?? "")).toMatchObject({ name: fresh?.name });
    await archive.fill();
    const expected = inOrder([again, ...others, ...ours(rowsOf(20, 100))]);
    expect(uidsOf(await walk(archive, {}, 7))).toEqual(uidsOf(expected));
    expect((await archive.get(again.uid))?.phase).toBe("Error");
    const days = await archive.dayCounts("2026-01-01", "2026-12-31");
    expect(days.reduce((sum, { count }) => sum + count, 0)).toBe(expected.length);
  });

  test("has rows that hold no object, which hide no others", async () => {
    await emptyDatabase();
    await createReferenceTables(database);
    const rows = rowsOf(10);
    await writeReferenceRows(database, rows);
    const [damaged, ...whole] = uidsOf(inOrder(ours(rows)));
    const archive = open();
    for (const object of ["null", '"x"', "[]", "5"]) {
      await database.query(
        "update argo_archived_workflows set workflow = ?::text::jsonb where uid = ?",
        [
          object,
          damaged ?? "",
        ],
      );
      await archive.fill();
      for (const withoutNodes of [true, false]) {
        expect(uidsOf(await walk(archive, { withoutNodes }, 3))).toEqual([damaged, ...whole]);
      }
    }
    await archive.remove([damaged ?? ""]);
    expect(uidsOf(await walk(archive, {}, 3))).toEqual(whole);
  });

  test("reads few large objects at a time, and all of them in the end", async () => {
    await emptyDatabase();
    const archive = open();
    const rows = ["1", "2", "3", "4", "5"].map((uid, at) => {
      // It must not become small by its compression.
      const text = randomBytes(at === 2 ? 10 : 150_000).toString("base64");
      return rowOf(uid, { object: JSON.stringify({ metadata: {}, spec: { text } }) });
    });
    await archive.put(rows);
    const connections = new Connections({ url });
    const owner = ["default", ""] as const;
    const ordered = uidsOf(rows).reverse();
    const { rows: read, left } = await loadRows(connections.query, 1, owner, ordered, {});
    await connections.close();
    expect(uidsOf(read).sort()).toEqual(["4", "5"]);
    expect([...left].sort()).toEqual(["1", "2", "3"]);
    for (const limit of [1, 2, 5]) {
      const all = await walk(archive, { maxSize: 2 ** 24 }, limit);
      expect(uidsOf(all)).toEqual(ordered);
      expect(all.map(({ object }) => JSON.parse(object))).toEqual(
        rows.map(({ object }) => JSON.parse(object)).reverse(),
      );
    }
  });

  test("answers rightly after a statement that failed when it had given some rows", async () => {
    await emptyDatabase();
    const connections = new Connections({ url, connections: 1 });
    const fails = "select (10 / (4 - n))::text as x from generate_series(1, 5) as n";
    const ones = "select n::text as x from generate_series(1, 2) as n";
    await expect(connections.query(fails)).rejects.toThrow("division by zero");
    expect(await connections.query(ones)).toEqual([{ x: "1" }, { x: "2" }]);
    await expect(connections.query(fails)).rejects.toThrow("division by zero");
    expect(await connections.transaction((query) => query(ones))).toHaveLength(2);
    await connections.close();
  });

  test("is filled in the background, by one replica, and goes on where it was", async () => {
    await emptyDatabase();
    await createReferenceTables(database);
    await writeReferenceRows(database, rowsOf(3_000));
    const archive = open({ looksAfterOthers: true });
    open({ looksAfterOthers: true });
    await expect.poll(rounds, { timeout: 20_000 }).toBeGreaterThan(0);
    expect((await walk(archive, { withoutObjects: true }, 1_000)).length).toBe(
      ours(rowsOf(3_000)).length,
    );
    // The one that did it lets another one do it when it stops.
    for (const archive of opened.splice(0)) await archive.close();
    expect(await one("select leader from sluice_archive_scope")).toEqual({ leader: null });
  });

  test("has our rows as the reference writes them", async () => {
    await emptyDatabase();
    const archive = open({ clusterName: "c1", instanceId: "i1" });
    const { startedAt: _startedAt, ...row } = rowOf("1", { labels: { app: "x", "a.b/c": "" } });
    await archive.put([row, rowOf("2", { startedAt: NOON + 1_500 })]);
    expect(
      await one(
        `select clustername, instanceid, namespace, name, phase, startedat::text, finishedat::text,
         creationtimestamp::text, workflow -> 'metadata' ->> 'uid' as uid, jsonb_typeof(workflow) as type
       from argo_archived_workflows where uid = '1'`,
      ),
    ).toEqual({
      clustername: "c1",
      instanceid: "i1",
      namespace: "team-a",
      name: "wf-1",
      phase: "Succeeded",
      startedat: "0001-01-01 00:00:00",
      finishedat: "2026-03-01 13:00:00",
      creationtimestamp: "2026-03-01 12:00:00",
      uid: "1",
      type: "object",
    });
    const labels =
      "select string_agg(name || '=' || value, ' ' order by name) as labels from argo_archived_workflows_labels";
    expect(await one(`${labels} where uid = '1'`)).toEqual({ labels: "a.b/c= app=x" });
    await archive.put([{ ...row, labels: { b: "1" }, edition: 2 }]);
    expect(await one(`${labels} where uid = '1'`)).toEqual({ labels: "b=1" });
    expect(
      (await one("select startedat::text as at from argo_archived_workflows where uid = '2'"))[
        "at"
      ],
    )
      .toBe("2026-03-01 12:00:01.5");
    // A round of the search finds nothing to correct in our rows.
    await archive.fill();
    expect(await archive.editions(["1", "2"])).toEqual(new Map([["1", 2], ["2", 1]]));
    await archive.remove(["1", "2"]);
    expect(await one("select count(*)::text as rows from argo_archived_workflows")).toEqual({
      rows: "0",
    });
    expect(await one("select count(*)::text as rows from sluice_archive_filed")).toEqual({
      rows: "0",
    });
    expect(await one("select count(*)::text as rows from sluice_archive_term")).toEqual({
      rows: "0",
    });
  });

  test("gets its tables once, from whichever replica comes first", async () => {
    await emptyDatabase();
    await Promise.all(Array.from({ length: 6 }, () => open().ping()));
    expect(await one("select count(*)::text as versions from sluice_archive_schema"))
      .toEqual({ versions: "2" });
  });

  test("says what a user without the rights needs", async () => {
    await emptyDatabase();
    await database.query("create role reader login", []).catch(() => {});
    await database.query("revoke create on schema public from public", []);
    const poor = url.replace("argo@", "reader@");
    await expect(open({ url: poor }).ping()).rejects.toMatchObject({
      code: ProblemCode.FailedPrecondition,
      message: expect.stringMatching(/cannot be made.*permission denied.*may create tables/),
    });
    await open().ping();
    await database.query(
      "grant select, insert, update, delete on all tables in schema public to reader",
      [],
    );
    await database.query("grant usage on all sequences in schema public to reader", []);
    const archive = open({ url: poor });
    await archive.put([rowOf("1")]);
    expect(await archive.get("1")).toMatchObject({ uid: "1" });
  });

  test.each([
    ["alter table argo_archived_workflows alter column workflow type json", /type json, not jsonb/],
    [
      "alter table argo_archived_workflows drop column creationtimestamp",
      /lacks creationtimestamp/,
    ],
    [
      "create table sluice_archive_schema (version int); insert into sluice_archive_schema values (99)",
      /newer version/,
    ],
  ])("refuses tables that are not as they must be: %s", async (changes, message) => {
    await emptyDatabase();
    await createReferenceTables(database);
    for (const change of changes.split("; ")) await database.query(change, []);
    await expect(open().ping()).rejects.toMatchObject({
      code: ProblemCode.FailedPrecondition,
      message: expect.stringMatching(message),
    });
  });

  test("is Unavailable while PostgreSQL is away, and works again when it is back", async () => {
    await emptyDatabase();
    const archive = open();
    await archive.put([rowOf("1")]);
    const unavailable = { code: ProblemCode.Unavailable };
    await server.crash();
    for (let round = 0; round < 3; round++) {
      const begun = performance.now();
      const calls = [
        archive.ping(),
        archive.get("1"),
        archive.list({ limit: 1 }),
        archive.put([rowOf("2")]),
        archive.remove(["1"]),
        open().ping(),
      ];
      for (const call of await Promise.allSettled(calls)) {
        expect(call).toMatchObject({ status: "rejected", reason: unavailable });
      }
      expect(performance.now() - begun).toBeLessThan(10_000);
    }
    await server.restart();
    await expect.poll(() => archive.ping().then(() => "back", String), { timeout: 10_000 }).toBe(
      "back",
    );
    await archive.put([rowOf("2")]);
    expect(uidsOf((await archive.list({ limit: 5 })).items)).toEqual(["2", "1"]);
    // A connection that is cut while it works.
    await server.database.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'sluice'",
      [],
    ).catch(() => {});
    await expect.poll(() => archive.ping().then(() => "back", String), { timeout: 10_000 }).toBe(
      "back",
    );
  });

  test.each(["postgres://argo@127.0.0.1:1/postgres", "postgres://argo@nowhere.invalid/postgres"])(
    "is Unavailable at %s",
    async (nowhere) => {
      await emptyDatabase();
      await expect(open({ url: nowhere }).ping())
        .rejects.toMatchObject({ code: ProblemCode.Unavailable });
    },
  );
});
