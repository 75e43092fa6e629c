import { expect, test } from "vitest";
import { Chain } from "./chain.ts";

function valuesOf(chain: Chain<string>): string[] {
  const values: string[] = [];
  for (let link = chain.first; link !== undefined; link = link.after) values.push(link.value);
  return values;
}

test("members leave from anywhere and the others stay in order", () => {
  const chain = new Chain<string>();
  const [a, b, c, d] = ["a", "b", "c", "d"].map((value) => chain.add(value)) as [
    ReturnType<typeof chain.add>,
    ReturnType<typeof chain.add>,
    ReturnType<typeof chain.add>,
    ReturnType<typeof chain.add>,
  ];
  chain.remove(b);
  expect(valuesOf(chain)).toEqual(["a", "c", "d"]);
  chain.remove(a);
  chain.remove(d);
  expect(valuesOf(chain)).toEqual(["c"]);
  chain.add("e");
  expect(valuesOf(chain)).toEqual(["c", "e"]);
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
  expect(valuesOf(chain)).toEqual(["first", "third"]);
  expect(chain.takeAll()).toEqual(["first", "third"]);
  chain.remove(first);
  chain.add("again");
  expect(valuesOf(chain)).toEqual(["again"]);
});
