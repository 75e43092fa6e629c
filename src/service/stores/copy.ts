/**
 * Copies everything that a store holds to another one, or to and from a file. What was written is read again, and must have
 * the counts and checksums of what was read; only then may a server use it.
 */
import { placeIn } from "../../actors/record_home.ts";
import { errorText } from "../../base/error_text.ts";
import { Problem, ProblemCode } from "../../base/problem.ts";
import type { StoreRecord, StoreSource, StoreTarget } from "../../store/dump.ts";
import { differences, type Sections, Tally } from "../../store/dump_tally.ts";

/** What is done now, and how far it is. */
export interface CopyProgress {
  step: "copied" | "checked";
  /** Workflows and other actors so far. */
  done: number;
  total: number;
}

export interface CopyOptions {
  /** Number of shards of the new store. @default that of the source */
  shards?: number | undefined;
  /** Removes an unfinished copy that the target has, also one of another source, in place of going on with it. */
  restart?: boolean | undefined;
  /** Hears of the progress after each batch. */
  onProgress?(progress: CopyProgress): void;
  /** Epoch ms. */
  now(): number;
}

export interface CopyReport {
  /** It went on with a copy that was not finished. */
  hasGoneOn: boolean;
  shards: number;
  sections: Sections;
}

/**
 * @throws {Problem} FailedPrecondition: a server works on the source, or the target holds something else; Aborted: the
 * source has changed meanwhile; DataLoss: what was written is not what was read. The last two leave an unfinished copy,
 * which the next run begins anew
 */
export async function copyStore(
  source: StoreSource,
  target: StoreTarget,
  { shards, restart = false, onProgress, now }: CopyOptions,
): Promise<CopyReport> {
  const { state, version, actors, ...facts } = await source.facts();
  const count = shards ?? facts.shards;
  const shardOf = placeIn(count);
  const plan = { from: source.name, state, version, actors, shards: count, restart, shardOf };
  const hasGoneOn = await target.begin(plan);
  const read = new Tally();
  const tell = (step: CopyProgress["step"], tally: Tally) =>
    onProgress?.({ step, done: tally.count("actor"), total: actors });
  let writing: Promise<void> = Promise.resolve();
  for await (const records of source.read()) {
    read.add(records);
    await writing;
    writing = write(records, source, target);
    // Heard of by the next await.
    writing.catch(() => {});
    tell("copied", read);
  }
  await writing;
  const after = await source.facts();
  if (after.state !== state) {
    await target.discard();
    throw new Problem(
      ProblemCode.Aborted,
      `A server has worked on ${source.name} while it was copied: stop it and copy again`,
    );
  }
  const sections = read.sections();
  const written = target.read?.();
  if (written !== undefined) {
    const found = await check(written, (tally) => tell("checked", tally));
    const faults = differences(sections, found, now());
    if (faults.length > 0) {
      await target.discard();
      throw new Problem(
        ProblemCode.DataLoss,
        `${target.name} does not hold what ${source.name} holds (${faults.join("; ")}): copy again`,
      );
    }
  }
  await target.finish();
  return { hasGoneOn, shards: count, sections };
}

/** @throws {Problem} DataLoss with both names: a backup may be damaged, a disk full, a Redis gone */
async function write(
  records: StoreRecord[],
  source: StoreSource,
  target: StoreTarget,
): Promise<void> {
  try {
    await target.write(records);
  } catch (error) {
    if (error instanceof Problem) throw error;
    const reason = errorText(error);
    throw new Problem(
      ProblemCode.DataLoss,
      `${target.name} can't take what ${source.name} holds: ${reason}`,
    );
  }
}

async function check(
  batches: AsyncIterable<StoreRecord[]>,
  onBatch: (tally: Tally) => void,
): Promise<Sections> {
  const tally = new Tally();
  for await (const records of batches) {
    tally.add(records);
    onBatch(tally);
  }
  return tally.sections();
}
