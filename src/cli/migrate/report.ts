/** What a migration tells: objects that are not simply taken over, and a summary; or everything as JSON, while it goes on. */
import { defined } from "../../base/defined.ts";
import { cellText, print, printTable } from "../output.ts";
import type { Note, Verdict } from "./check.ts";
import type { Setting } from "./controller_settings.ts";
import type { OutcomeName } from "./target.ts";

/** One object of the installation. */
export interface ObjectReport {
  kind: string;
  namespace?: string;
  name: string;
  uid?: string;
  verdict: Verdict;
  /** What was done, or in a dry run would be. Absent: no server was asked. */
  outcome?: OutcomeName;
  /** Why it is refused, differs or is left. */
  reason?: string;
  notes?: Note[];
}

/** A part of the installation that could not be read or looked at. */
interface Trouble {
  what: string;
  why: string;
}

/** Most objects of which the text tells. */
const MAX_TOLD = 500;
const COUNTED = ["works", "partly", "refused", "left"] as const;
const PLACED = ["created", "unchanged", "differs", "replaced"] as const;
type Column = typeof COUNTED[number] | typeof PLACED[number];
type Counts = { found: number } & Record<Column, number>;

const SIGNS: Record<Verdict, string> = { works: "✔", partly: "!", refused: "✖", left: "-" };

export class Report {
  readonly #isJson: boolean;
  readonly #isDryRun: boolean;
  readonly #counts = new Map<string, Counts>();
  readonly #troubles: Trouble[] = [];
  readonly #unseen: Trouble[] = [];
  readonly #settings: Setting[] = [];
  readonly #onTold: () => void;
  #told = 0;
  #count = 0;

  /** @param onTold is called before a line about an object: the line of a progress may stand there */
  constructor(isJson: boolean, isDryRun: boolean, onTold: () => void) {
    this.#isJson = isJson;
    this.#isDryRun = isDryRun;
    this.#onTold = onTold;
    if (isJson) print('{"objects":[');
  }

  add(object: ObjectReport): void {
    const { kind, verdict, outcome } = object;
    const counts = this.#counts.get(kind) ?? noCounts();
    this.#counts.set(kind, counts);
    counts.found++;
    counts[verdict]++;
    const placed = PLACED.find((one) => one === outcome);
    if (placed !== undefined) counts[placed]++;
    if (this.#isJson) {
      this.#onTold();
      print(`${this.#count === 0 ? "" : ","}${JSON.stringify(object)}`);
    } else if (verdict !== "works" || outcome === "differs") this.#tell(object);
    this.#count++;
  }

  trouble(what: string, why: string): void {
    this.#troubles.push({ what, why });
  }

  /** Something that would not be imported anyway could not be looked at: the report is still whole. */
  unseen(what: string, why: string): void {
    this.#unseen.push({ what, why });
  }

  /** Adds the settings of a controller. An installation may have several controllers. */
  settings(settings: Setting[]): void {
    for (const setting of settings) {
      if (this.#settings.every(({ name }) => name !== setting.name)) this.#settings.push(setting);
    }
  }

  /** Whether it tells of nothing at all. */
  get isEmpty(): boolean {
    return this.#count === 0 && this.#unseen.length === 0 && this.#troubles.length === 0;
  }

  /** Ends the report. @returns whether everything that was meant to be imported is, or would be */
  end(): boolean {
    const isWhole = this.#troubles.length === 0 &&
      [...this.#counts.values()].every(({ refused, differs }) => refused + differs === 0);
    if (this.#isJson) {
      const rest = {
        settings: this.#settings,
        troubles: this.#troubles,
        unseen: this.#unseen,
        isDryRun: this.#isDryRun,
        summary: Object.fromEntries(this.#counts),
      };
      print(`],${JSON.stringify(rest).slice(1)}`);
    } else this.#printSummary();
    return isWhole;
  }

  #tell({ kind, namespace, name, verdict, outcome, reason, notes = [] }: ObjectReport): void {
    this.#told++;
    if (this.#told > MAX_TOLD) return;
    this.#onTold();
    const sign = outcome === "differs" ? "≠" : SIGNS[verdict];
    const place = namespace === undefined || namespace === "" ? name : `${namespace}/${name}`;
    print(`${sign} ${kind} ${place}${reason === undefined ? "" : `: ${reason}`}`);
    for (const { path, text } of notes) print(`    ${cellText(path)}: ${text}`);
  }

  #printSummary(): void {
    const hidden = this.#told - MAX_TOLD;
    if (hidden > 0) print(`… and ${hidden} more; -o json has all of them`);
    if (this.#settings.length > 0) {
      print("\nSettings of the controller, which a server has as flags:");
      for (const { name, advice } of this.#settings) print(`    ${name}: ${advice}`);
    }
    printTroubles("Not read", this.#troubles);
    printTroubles("Not looked at", this.#unseen);
    print("");
    const done = this.#isDryRun
      ? ["TO CREATE", "THERE", "DIFFER", "TO REPLACE"]
      : ["CREATED", "THERE", "DIFFER", "REPLACED"];
    printTable(
      ["KIND", "FOUND", "WORK", "IN PART", "REFUSED", "LEFT", ...done],
      [...this.#counts].map(([kind, counts]) => [
        kind,
        String(counts.found),
        ...[...COUNTED, ...PLACED].map((column) => String(counts[column])),
      ]),
    );
    if (this.#isDryRun) print("\nNothing was changed: --apply imports.");
  }
}

function printTroubles(title: string, troubles: readonly Trouble[]): void {
  if (troubles.length === 0) return;
  print(`\n${title}:`);
  for (const { what, why } of troubles) print(`    ${what}: ${why}`);
}

function noCounts(): Counts {
  const zeros = [...COUNTED, ...PLACED].map((column) => [column, 0] as const);
  return { found: 0, ...Object.fromEntries(zeros) } as Counts;
}

/** A report without members that are undefined. */
export function objectReport(
  members: { [K in keyof ObjectReport]: ObjectReport[K] | undefined },
): ObjectReport {
  return defined(members) as unknown as ObjectReport;
}
