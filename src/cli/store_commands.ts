/** Commands about stores themselves: copy, export, import. They work on the store, without a server. */
import process from "node:process";
import { type Command, Option } from "commander";
import { maskUrl } from "../base/masked_url.ts";
import { STANDARD_NAMING } from "../spec/naming.ts";
import { example, UsageError } from "./context.ts";
import { Progress } from "./migrate/progress.ts";
import { print, say } from "./output.ts";
import type { CopyProgress, CopyReport } from "../service/stores/copy.ts";
import type { StoreSource, StoreTarget } from "../service/stores/open.ts";

const MAX_SHARDS = 4_096;
/** Time between two lines about the progress where there is no terminal, ms. */
const LINE_EVERY_MS = 5_000;

interface TargetOptions {
  shards?: number;
  restart?: boolean;
  labelPrefix: string;
}

/** Registers `store`. */
export function addStoreCommands(program: Command): void {
  const group = program.command("store").description(
    "copy, export and import a whole store while no server uses it",
  );
  targetOptions(
    group.command("copy").description(
      "copy everything to an empty store; after an interruption, run it again to continue",
    )
      .argument("<from>", "sqlite:FOLDER or redis://…")
      .argument("<to>", "sqlite:FOLDER or redis://…; empty, or an unfinished copy of the same"),
  )
    .addHelpText(...example(
      "sluice store copy sqlite:.sluice redis://127.0.0.1:6379",
      "sluice store copy redis://old:6379 redis+cluster://a:6379,b:6379 --shards 256",
    ))
    .action(async (from: string, to: string, options: TargetOptions) => {
      if (from === to) throw new UsageError("FROM and TO are the same store");
      const { openSource, openTarget } = await import("../service/stores/open.ts");
      const source = await openSource(from);
      const report = await run(source, () => openTarget(to, options.labelPrefix), options);
      print(`${maskUrl(to)} has ${report}`);
      await tellOfArchive(from);
    });
  addCopyArchive(group);
  group.command("export").description("write everything to a file, as a backup")
    .argument("<from>", "sqlite:FOLDER or redis://…")
    .argument(
      "<file>",
      "file to create; compressed if its name ends with .gz; - is standard output",
    )
    .addHelpText(...example("sluice store export sqlite:.sluice backup.jsonl.gz"))
    .action(async (from: string, file: string) => {
      const { openBackupTarget, openSource } = await import("../service/stores/open.ts");
      const source = await openSource(from);
      const report = await run(source, () => openBackupTarget(file, Date.now));
      say(`${file === "-" ? "the output" : file} has ${report}`);
      await tellOfArchive(from);
    });
  targetOptions(
    group.command("import").description("fill an empty store from a file that export has written")
      .argument("<file>", "file to read; - is standard input")
      .argument("<to>", "sqlite:FOLDER or redis://…; empty, or an unfinished import of the same"),
  )
    .addHelpText(...example("sluice store import backup.jsonl.gz redis://127.0.0.1:6379"))
    .action(async (file: string, to: string, options: TargetOptions) => {
      const { openBackupSource, openTarget } = await import("../service/stores/open.ts");
      const source = openBackupSource(file);
      const report = await run(source, () => openTarget(to, options.labelPrefix), options);
      print(`${maskUrl(to)} has ${report}`);
    });
}

function addCopyArchive(group: Command): void {
  group.command("copy-archive")
    .description("copy the finished workflows of an archive to another one; it may be run again")
    .argument("<from>", "sqlite:FOLDER (no server may use it) or postgres://…")
    .argument("<to>", "sqlite:FOLDER (no server may use it) or postgres://…")
    .option("--archive-cluster-name <name>", "as the servers have it, for postgres://…", "default")
    .option("--archive-instance-id <id>", "as the servers have it, for postgres://…", "")
    .addHelpText(...example(
      "sluice store copy-archive sqlite:.sluice postgres://sluice@127.0.0.1/archive",
    ))
    .action(async (from: string, to: string, options: ArchiveOptions) => {
      if (from === to) throw new UsageError("FROM and TO are the same archive");
      const { copyArchive } = await import("../service/stores/archive_copy.ts");
      const teller = new Teller();
      try {
        const { archiveClusterName: clusterName, archiveInstanceId: instanceId } = options;
        const count = await copyArchive(
          from,
          to,
          { clusterName, instanceId },
          (done) => teller.tell({ step: "copied", done, total: 0 }),
        );
        teller.clear();
        print(`${maskUrl(to)} has the ${count} finished workflows of ${maskUrl(from)}`);
      } finally {
        teller.clear();
      }
    });
}

interface ArchiveOptions {
  archiveClusterName: string;
  archiveInstanceId: string;
}

/** What has moved to the archive beside a store is not in the store. */
async function tellOfArchive(store: string): Promise<void> {
  const { archiveBeside } = await import("../service/stores/archive_copy.ts");
  const folder = archiveBeside(store);
  if (folder === undefined) return;
  say(
    `finished workflows that have moved to the archive in ${folder} are not in it: give the new server ` +
      `--archive-store sqlite:${folder}, or another one to which sluice store copy-archive has copied them`,
  );
}

function targetOptions(command: Command): Command {
  return command
    .addOption(
      new Option("--shards <number>", "number of shards of the new store; otherwise as before")
        .argParser(shardsFrom),
    )
    .option("--restart", "remove an unfinished copy and start from the beginning")
    .option(
      "--label-prefix <prefix>",
      "as the servers have it: prefix of the labels that Sluice sets",
      STANDARD_NAMING.labelPrefix,
    );
}

function shardsFrom(text: string): number {
  const shards = Number(text);
  if (Number.isInteger(shards) && shards >= 1 && shards <= MAX_SHARDS) return shards;
  throw new UsageError(`--shards must be a whole number from 1 to ${MAX_SHARDS}`);
}

/** Copies and closes both ends. @returns what the target has, as text */
async function run(
  source: StoreSource,
  open: () => StoreTarget | Promise<StoreTarget>,
  { shards, restart }: Partial<TargetOptions> = {},
): Promise<string> {
  const teller = new Teller();
  let target: StoreTarget | undefined;
  try {
    target = await open();
    const { copyStore } = await import("../service/stores/copy.ts");
    const onProgress = (progress: CopyProgress) => teller.tell(progress);
    const report = await copyStore(source, target, {
      shards,
      restart,
      onProgress,
      now: Date.now,
    });
    teller.clear();
    if (report.hasGoneOn) say("resumed the unfinished copy");
    return reportText(report);
  } finally {
    teller.clear();
    await target?.close();
    await source.close();
  }
}

/** `3 shards and, checked by counts and checksums: 12 actors, 2 manifests`, the sections that expire added up. */
function reportText({ shards, sections }: CopyReport): string {
  const counts = new Map<string, number>();
  for (const [name, { count }] of Object.entries(sections)) {
    const [kind = ""] = name.split(" ");
    counts.set(kind, (counts.get(kind) ?? 0) + count);
  }
  const told = [...counts].map(([kind, count]) => `${kind} ${count}`);
  return `${shards} shards; records, all with the right checksums: ${told.join(", ") || "none"}`;
}

/** Tells the progress: a bar on a terminal, now and then a line elsewhere. */
class Teller {
  readonly #bar = new Progress();
  #toldAt = performance.now();

  tell({ step, done, total }: CopyProgress): void {
    const what = `workflows ${step}`;
    if (process.stderr.isTTY === true) return this.#bar.show(done, total, what);
    if (performance.now() - this.#toldAt < LINE_EVERY_MS) return;
    this.#toldAt = performance.now();
    say(total > 0 ? `${done} of ${total} ${what}` : `${done} ${what}`);
  }

  clear(): void {
    this.#bar.clear();
  }
}
