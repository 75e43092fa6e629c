/** While a server is silent, callers are refused soon; when it answers again, all go on. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ProblemCode, unavailable } from "../../base/problem.ts";
import { Gate, Silent } from "./gate.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A server that answers, or says so only after a while that it does not. */
class Server {
  isSilent = false;
  pings = 0;
  readonly gate = new Gate(2, () => {
    this.pings++;
    return this.answer();
  });

  async answer(): Promise<string> {
    if (!this.isSilent) return "yes";
    await new Promise((resolve) => setTimeout(resolve, 20_000));
    throw new Silent(ProblemCode.Unavailable, "silent");
  }

  ask(count: number): Promise<string[]> {
    return Promise.all(
      Array.from(
        { length: count },
        () => this.gate.run(() => this.answer()).catch((error: Error) => error.message),
      ),
    );
  }
}

test("those who wait when the silence begins are told with the first", async () => {
  const server = new Server();
  server.isSilent = true;
  const told = server.ask(10);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(new Set(await told)).toEqual(new Set(["silent", "The archive is busy"]));
});

test("then all wait a second for one ping, and go on as soon as there is an answer", async () => {
  const server = new Server();
  server.isSilent = true;
  const first = server.ask(1);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(await first).toEqual(["silent"]);
  const others = server.ask(50);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(new Set(await others)).toEqual(new Set(["silent"]));
  expect(new Set(await server.ask(50))).toEqual(new Set(["silent"]));
  expect(server.pings).toBe(1);
  server.isSilent = false;
  await vi.advanceTimersByTimeAsync(20_000);
  expect(new Set(await server.ask(50))).toEqual(new Set(["yes"]));
  expect(server.pings).toBe(2);
});

test("work that is refused for another reason tells nothing about the server", async () => {
  const server = new Server();
  const refused = server.gate.run(() => Promise.reject(unavailable("full")));
  await expect(refused).rejects.toThrow("full");
  expect(await server.ask(3)).toEqual(["yes", "yes", "yes"]);
  expect(server.pings).toBe(0);
});

test("who waits too long for a place is refused, and the place goes to others", async () => {
  const { gate } = new Server();
  const ends: (() => void)[] = [];
  const works = Array.from(
    { length: 2 },
    () => gate.run(() => new Promise<void>((resolve) => ends.push(resolve))),
  );
  const late = gate.run(() => Promise.resolve()).catch((error: Error) => error.message);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await late).toBe("The archive is busy");
  const next = gate.run(() => Promise.resolve("in"));
  await vi.advanceTimersByTimeAsync(0);
  for (const end of ends) end();
  await Promise.all(works);
  expect(await next).toBe("in");
});
