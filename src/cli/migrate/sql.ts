/** Queries to PostgreSQL and MySQL. A driver is loaded only when its database is named. */
import { databaseUrlFault } from "../../base/database_url.ts";
import { errorText } from "../../base/error_text.ts";
import { maskUrl } from "../../base/masked_url.ts";
import { UsageError } from "../context.ts";

/** A row: every column is asked for as text. */
export type Row = Readonly<Record<string, string | null>>;

export interface Database {
  /** Where it is, without the password. */
  readonly place: string;
  /** Runs a query with `?` for each value. @throws {Error} that says where the database is */
  query(text: string, values: readonly string[]): Promise<Row[]>;
  /** The SQL that gives a JSON column as text. */
  jsonText(column: string): string;
  close(): Promise<void>;
}

/** How long a connection may take, seconds. */
const CONNECT_SECONDS = 15;
/** Connections: readers of one page. */
const CONNECTIONS = 4;

/**
 * Opens the database of an address. Nothing is sent before the first query.
 *
 * @param mayWrite otherwise the database refuses every change, where it can
 * @throws {UsageError} for any other address
 */
export async function openDatabase(address: string, mayWrite = false): Promise<Database> {
  if (!/^(postgres(ql)?|mysql|mariadb):\/\//.test(address)) {
    throw new UsageError("--archive takes postgres://USER:PASSWORD@HOST/DATABASE or mysql://…");
  }
  const fault = databaseUrlFault(address);
  if (fault !== undefined) throw new UsageError(`--archive: ${fault}`);
  return address.startsWith("postgres")
    ? await openPostgres(address, mayWrite)
    : await openMysql(address);
}

async function openPostgres(address: string, mayWrite: boolean): Promise<Database> {
  const { default: postgres } = await import("postgres");
  const sql = postgres(address, {
    max: CONNECTIONS,
    connect_timeout: CONNECT_SECONDS,
    onnotice: () => {},
    connection: { application_name: "sluice migrate", default_transaction_read_only: !mayWrite },
  });
  const place = maskUrl(address);
  return {
    place,
    query(text, values) {
      let count = 0;
      const numbered = text.replace(/\?/g, () => `$${++count}`);
      return placed(place, async () => await sql.unsafe(numbered, [...values]) as unknown as Row[]);
    },
    jsonText: (column) => `${column}::text`,
    close: () => sql.end({ timeout: 5 }),
  };
}

async function openMysql(address: string): Promise<Database> {
  let driver: typeof import("mysql2/promise");
  try {
    driver = await import("mysql2/promise");
  } catch (error) {
    throw new Error(
      `Cannot load the driver of MySQL (${errorText(error)}): run npm install mysql2 beside sluice`,
    );
  }
  const pool = driver.createPool({
    uri: address.replace(/^mariadb:/, "mysql:"),
    connectionLimit: CONNECTIONS,
    connectTimeout: CONNECT_SECONDS * 1_000,
    // Numbers and times come as they are written, as with the other driver.
    dateStrings: true,
  });
  const place = maskUrl(address);
  return {
    place,
    query: (text, values) =>
      placed(place, async () => {
        const [rows] = await pool.query(text, [...values]);
        return rows as unknown as Row[];
      }),
    jsonText: (column) => `cast(${column} as char)`,
    // A connection that is still coming about fails here; what went wrong before has been said.
    close: () => pool.end().catch(() => {}),
  };
}

/** Says of an error which database it is from: the server of the import has connections too. */
async function placed<T>(place: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw new Error(`${place}: ${errorText(error)}`, { cause: error });
  }
}
