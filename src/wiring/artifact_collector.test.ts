import { expect, test } from "vitest";
import { workflowActorId } from "../actors/actor_ids.ts";
import { invalid, unavailable } from "../base/problem.ts";
import type { Artifact } from "../spec/manifest.ts";
import { artifactCollector } from "./artifact_collector.ts";

const OWN: Artifact = { name: "own", s3: { key: "n/w/own.tgz" } };
const NAMED: Artifact = { name: "named", s3: { endpoint: "e", bucket: "b", key: "k" } };

/** Which artifacts were asked to be removed, and which the log says stay, where removing fails. */
async function collect(cause: Error, artifacts: Artifact[], repositoryRef?: { key: string }) {
  const [asked, stay]: [string[], string[]] = [[], []];
  const remove = ({ name }: Artifact) => {
    asked.push(name);
    return Promise.reject(cause);
  };
  const warn = (fields: unknown) => void stay.push((fields as { artifact: string }).artifact);
  const collector = artifactCollector({ remove }, { warn });
  const unwanted = { artifacts, ...(repositoryRef && { repositoryRef }) };
  const failure = await collector(workflowActorId("n", "w"), unwanted).catch((error) => error);
  return { asked, stay, failure };
}

test("as long as the server's repository is away, nothing of it is given up", async () => {
  const away = unavailable("the repository is away");
  expect(await collect(away, [OWN, NAMED])).toEqual({ asked: ["own"], stay: [], failure: away });
});

test("what can't be removed, and what is in a bucket of a manifest, holds up nothing else", async () => {
  expect(await collect(invalid("no such key"), [OWN, OWN])).toEqual({
    asked: ["own", "own"],
    stay: ["own", "own"],
    failure: undefined,
  });
  const away = unavailable("the bucket is away");
  const rest = { asked: ["named"], stay: ["named"], failure: undefined };
  expect(await collect(away, [NAMED])).toEqual(rest);
  expect(await collect(away, [OWN], { key: "mine" }))
    .toEqual({ asked: ["own"], stay: ["own"], failure: undefined });
});
