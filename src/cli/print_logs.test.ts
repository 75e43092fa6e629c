import { expect, test } from "vitest";
import { ClientError } from "../client/transport.ts";
import { followedLines } from "./print_logs.ts";

const line = (podName: string, content: string) => ({ podName, content });

async function all(streams: (object[] | Error)[][]): Promise<string[]> {
  const rest = [...streams];
  const shown: string[] = [];
  const open = async function* () {
    for (const part of rest.shift() ?? []) {
      if (part instanceof Error) throw part;
      yield* part;
    }
  };
  for await (const { podName, content } of followedLines(open)) {
    shown.push(`${podName}: ${content}`);
  }
  return shown;
}

test("followed logs go on where a broken stream ended, whatever the order of the pods is then", async () => {
  expect(
    await all([
      [
        [line("a", "1"), line("b", "1"), line("a", "1")],
        new ClientError("The answer broke off", 0),
      ],
      [new ClientError("Cannot reach it", 0)],
      [new ClientError("Too many requests", 429)],
      [[line("b", "1"), line("a", "1"), line("a", "1"), line("a", "2"), line("b", "2")]],
    ]),
  ).toEqual(["a: 1", "b: 1", "a: 1", "a: 2", "b: 2"]);
});

test("a refusal ends them", async () => {
  await expect(all([[new ClientError('workflows.argoproj.io "x" not found', 404)]])).rejects
    .toThrow("not found");
});
