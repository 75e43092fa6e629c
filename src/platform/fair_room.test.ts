import { expect, test } from "vitest";
import { FairRoom } from "./fair_room.ts";

/** Asks for room; tells who got it, in order. */
function asker(room: FairRoom) {
  const got: string[] = [];
  const ask = (name: string, size: number) => {
    if (room.enter(name, size)) got.push(name);
    else return room.wait(name, size, () => void got.push(name));
    return undefined;
  };
  return { got, ask };
}

test("one alone has three quarters, and whoever comes next finds some at once", () => {
  const room = new FairRoom(64);
  const { got, ask } = asker(room);
  for (let at = 0; at < 10; at++) ask("greedy", 8);
  expect(got).toHaveLength(6);
  ask("second", 8);
  ask("third", 2);
  expect(got.slice(6)).toEqual(["second", "third"]);
  expect([room.isAwaited, room.isShort]).toEqual([true, false]);
});

test("those who wait come one after the other, whatever each of them still wants", () => {
  const room = new FairRoom(64);
  const { got, ask } = asker(room);
  ask("a", 48);
  ask("b", 16);
  for (const name of ["c", "c", "c", "d"]) ask(name, 12);
  expect([room.isShort, room.isAwaitedBy("c"), room.isAwaitedBy("a")]).toEqual([true, true, false]);
  room.leave("a", 48);
  expect(got).toEqual(["a", "b", "c", "d", "c"]);
  room.leave("c", 24);
  expect(got.slice(5)).toEqual(["c"]);
});

test("one whose turn it is waits for much, and nobody takes it away meanwhile", () => {
  const room = new FairRoom(64);
  const { got, ask } = asker(room);
  ask("a", 40);
  const much = ask("b", 48);
  ask("c", 4);
  expect(got).toEqual(["a"]);
  if (much !== undefined) room.giveUp(much);
  expect(got).toEqual(["a", "c"]);
});

test("what was taken beyond the room is given back first", () => {
  const room = new FairRoom(64);
  const { got, ask } = asker(room);
  room.take("a", 100);
  ask("b", 1);
  room.leave("a", 30);
  expect(got).toEqual([]);
  room.leave("a", 70);
  expect(got).toEqual(["b"]);
  room.leave("b", 1);
  expect(room.enter("c", 48)).toBe(true);
});
