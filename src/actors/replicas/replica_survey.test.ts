import { afterEach, expect, test } from "vitest";
import { Deployment, SHARDS } from "../../../test/support/deployment.ts";

let deployment: Deployment;
afterEach(() => deployment.stop());

test("every live replica says what it runs; one that is silent is named without facts", async () => {
  deployment = new Deployment();
  const a = await deployment.replica("a");
  const b = await deployment.replica("b");
  await deployment.clock.advance(10_000);
  const reports = await a.survey();
  expect(reports.map(({ replica }) => replica)).toEqual(["a", "b"]);
  const owned = reports.flatMap(({ facts }) => facts?.shards ?? []);
  expect(owned.sort((x, y) => x - y)).toEqual(Array.from({ length: SHARDS }, (_, shard) => shard));
  expect(reports.every(({ facts }) => (facts?.shards.length ?? 0) > 0)).toBe(true);
  expect(reports[0]?.facts).toMatchObject({ actors: 0, tasks: 0, about: {} });

  b.halt();
  const asked = a.survey();
  await deployment.clock.advance(2_000);
  expect(await asked).toEqual([reports[0], { replica: "b" }]);
});
