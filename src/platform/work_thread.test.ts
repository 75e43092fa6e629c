import { afterEach, expect, test } from "vitest";
import { systemClock } from "./clock.ts";
import { WorkThread } from "./work_thread.ts";

const ODD = new URL("../../test/support/odd_thread.ts", import.meta.url);
const threads: WorkThread[] = [];
function start(options: { jobMs?: number; idleMs?: number; maxWaiting?: number } = {}): WorkThread {
  const all = { jobMs: 20_000, idleMs: 60_000, maxWaiting: 8, ...options };
  const thread = new WorkThread(ODD, all, systemClock);
  threads.push(thread);
  return thread;
}
afterEach(() => threads.splice(0).forEach((thread) => thread.close()));

test("jobs are done one after the other, also after the thread was idle", async () => {
  const thread = start({ idleMs: 20 });
  const answers = await Promise.all(["a", "b", "c"].map((text) => thread.run(text)));
  expect(answers).toEqual(["answer to a", "answer to b", "answer to c"]);
  await systemClock.sleep(100);
  expect(await thread.run("d")).toBe("answer to d");
});

test("a job that takes too long is cut off, and the next one is done", async () => {
  const thread = start({ jobMs: 1_500 });
  const late = thread.run("never end").catch((error: Error) => error.name);
  const next = thread.run("a").catch((error: Error) => error.name);
  expect(await late).toBe("JobTooLong");
  expect(["answer to a", "JobTooLong"]).toContain(await next);
});

test.each(["fail", "end"])("a job that makes the thread %s fails alone", async (text) => {
  const thread = start();
  const failed = thread.run(text).then(() => "done", () => "failed");
  const next = thread.run("a");
  expect(await failed).toBe("failed");
  expect(await next).toBe("answer to a");
});

test("no more than so many wait", async () => {
  const thread = start({ maxWaiting: 1 });
  const [first, second] = [thread.run("a"), thread.run("b")];
  await expect(thread.run("c")).rejects.toMatchObject({ name: "TooManyJobs" });
  expect(await Promise.all([first, second])).toEqual(["answer to a", "answer to b"]);
});

test("closing ends what is under way", async () => {
  const thread = start();
  const jobs = [thread.run("never end"), thread.run("a")].map((job) =>
    job.then(() => "done", () => "ended")
  );
  thread.close();
  expect(await Promise.all(jobs)).toEqual(["ended", "ended"]);
});
