import { expect, test } from "vitest";
import { Chain } from "./chain.ts";

test("members leave from anywhere and the others stay in order", () => {
  const chain = new Chain<string>();
  const [a, b, c, d] = ["a", "b", "c", "d"].map((value) => chain.add(value)) as [
    ReturnType<typeof chain.add>,
    ReturnType<typeof chain.add>,
    ReturnType<typeof chain.add>,
    ReturnType<typeof chain.add>,
  ];
  chain.remove(b);
  expect([...chain]).toEqual(["a", "c", "d"]);
  chain.remove(a);
  chain.remove(d);
  expect([...chain]).toEqual(["c"]);
  chain.add("e");
  expect([...chain]).toEqual(["c", "e"]);
  chain.remove(c);
  expect(chain.takeAll()).toEqual(["e"]);
  expect(chain.first).toBeUndefined();
});

test("who has left leaves once, and holds no neighbour", () => {
  const chain = new Chain<string>();
  const first = chain.add("first");
  const second = chain.add("second");
  chain.add("third");
  chain.remove(second);
  chain.remove(second);
  expect([second.before, second.after]).toEqual([undefined, undefined]);
  expect([...chain]).toEqual(["first", "third"]);
  expect(chain.takeAll()).toEqual(["first", "third"]);
  chain.remove(first);
  chain.add("again");
  expect([...chain]).toEqual(["again"]);
});

test("the member that is shown may leave", () => {
  const chain = new Chain<number>();
  const links = [1, 2, 3].map((value) => chain.add(value));
  const seen: number[] = [];
  for (const value of chain) {
    seen.push(value);
    const link = links[value - 1];
    if (link !== undefined) chain.remove(link);
  }
  expect(seen).toEqual([1, 2, 3]);
  expect([...chain]).toEqual([]);
});

test("a member moves to the end, also when it has left", () => {
  const chain = new Chain<string>();
  const first = chain.add("first");
  const second = chain.add("second");
  chain.moveToEnd(second);
  expect([...chain]).toEqual(["first", "second"]);
  chain.moveToEnd(first);
  expect([...chain]).toEqual(["second", "first"]);
  chain.remove(second);
  chain.moveToEnd(second);
  expect(chain.takeAll()).toEqual(["first", "second"]);
});
