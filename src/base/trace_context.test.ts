import { expect, test } from "vitest";
import { parseTraceparent, traceparent } from "./trace_context.ts";

const [TRACE, SPAN] = ["0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"];

test("parseTraceparent() reads what traceparent() writes", () => {
  for (const isSampled of [true, false]) {
    const text = traceparent({ traceId: TRACE, spanId: SPAN }, isSampled);
    expect(parseTraceparent(text)).toEqual({ traceId: TRACE, spanId: SPAN, isSampled });
  }
});

test("parseTraceparent() reads later versions as far as it knows them", () => {
  const later = parseTraceparent(`01-${TRACE}-${SPAN}-03-more`);
  expect(later).toEqual({ traceId: TRACE, spanId: SPAN, isSampled: true });
});

test.each([
  undefined,
  null,
  "",
  "hello",
  `00-${TRACE}-${SPAN}`,
  `00-${TRACE}-${SPAN}-01-more`,
  `ff-${TRACE}-${SPAN}-01`,
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${"0".repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${"0".repeat(16)}-01`,
  `00-${TRACE}-${SPAN}-0g`,
  `01-${TRACE}-${SPAN}-01-${"x".repeat(200)}`,
])("parseTraceparent(%j) is nothing", (text) => {
  expect(parseTraceparent(text)).toBeUndefined();
});

test("a tracestate is kept if it may stand in a header and is short", () => {
  const state = (text: string) => parseTraceparent(`00-${TRACE}-${SPAN}-01`, text)?.state;
  expect(state("vendor=a,other=b")).toBe("vendor=a,other=b");
  expect(state("a=\nb")).toBeUndefined();
  expect(state(`a=${"x".repeat(600)}`)).toBeUndefined();
});
