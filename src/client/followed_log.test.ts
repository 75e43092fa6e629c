import { expect, test } from "vitest";
import { createClient } from "./client.ts";
import { linesToTheEnd } from "./followed_log.ts";

/** The lines of a log that ends, and what becomes of it where the workflow is answered with this. */
async function linesWhere(answer: () => Response): Promise<string[]> {
  const fetch = ({ url }: Request) =>
    Promise.resolve(
      url.includes("/log?") ? new Response('{"result":{"content":"a"}}\n') : answer(),
    );
  const client = createClient({ server: "http://s.example", fetch });
  const lines: string[] = [];
  const params = { namespace: "n", name: "w" };
  const input = { params, query: { "logOptions.follow": true } };
  for await (const { content = "" } of linesToTheEnd(client, input)) lines.push(content);
  return lines;
}

const refused = (status: number) => () => Response.json({ code: 1, message: "no" }, { status });

test("a log is at its end when its workflow has ended, is gone, or may not be seen", async () => {
  const ended = () => Response.json({ status: { finishedAt: "2026-01-01T00:00:00Z" } });
  for (const answer of [ended, refused(404), refused(403)]) {
    expect(await linesWhere(answer)).toEqual(["a"]);
  }
});

test("a log that ends earlier, or nobody can tell at the moment, has not come to its end", async () => {
  await expect(linesWhere(() => Response.json({ status: {} }))).rejects
    .toMatchObject({ status: 0, message: "The log ended before its workflow" });
  for (const status of [429, 503]) {
    await expect(linesWhere(refused(status))).rejects.toMatchObject({ status });
  }
});
