import { expect, test } from "vitest";
import type { Json, JsonObject } from "../../base/json.ts";
import { Problem } from "../../base/problem.ts";
import { cloudEventMode, cloudEventsOf } from "./cloud_events.ts";

const EVENT = { specversion: "1.0", id: "1", source: "/jobs", type: "job.done" };
const HEADERS = Object.fromEntries(
  Object.entries(EVENT).map(([name, value]) => [`ce-${name}`, [value]]),
);
const JSON_TYPE = "application/cloudevents+json; charset=utf-8";

const structured = (event: Json | undefined) =>
  cloudEventsOf("structured", event, { "x-a": ["b"], "ce-id": ["other"] }, JSON_TYPE)[0];
const binary = (headers: Record<string, string[]>, body: Json | undefined = null, type?: string) =>
  cloudEventsOf("binary", body, headers, type)[0];

function refusalOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof Problem) return `${error.status} ${error.message}`;
    throw error;
  }
  return "none";
}

test("the mode follows from the content type, else from the headers", () => {
  expect(cloudEventMode({}, undefined)).toBeUndefined();
  expect(cloudEventMode({ "x-id": ["1"], "ce-other": ["1"] }, "application/json")).toBeUndefined();
  expect(cloudEventMode({}, JSON_TYPE)).toBe("structured");
  expect(cloudEventMode(HEADERS, "Application/CloudEvents")).toBe("structured");
  expect(cloudEventMode({}, "application/cloudevents-batch+json")).toBe("batch");
  expect(cloudEventMode(HEADERS, "application/json")).toBe("binary");
  expect(cloudEventMode({ "ce-id": ["1"] }, undefined)).toBe("binary");
  for (const type of ["application/cloudevents+avro", "application/cloudeventsx"]) {
    expect(refusalOf(() => cloudEventMode({}, type))).toMatch(/^400 Content-Type .* only /);
  }
});

test("binary, structured and batched, an event is the same", () => {
  const data = { state: "done" };
  const more = { subject: "a b", datacontenttype: "application/json", n: "7" };
  const all = { ...EVENT, ...more };
  const metadata = {
    "x-a": ["b"],
    ...Object.fromEntries(Object.entries(all).map(([name, value]) => [`ce-${name}`, [value]])),
  };
  const expected = {
    payload: data,
    metadata,
    identity: ["/jobs", "1"],
    content: ["job.done", "a b", data],
  };
  expect(structured({ ...all, n: 7, data })).toEqual(expected);
  const [, inBatch] = cloudEventsOf(
    "batch",
    [{ ...EVENT, id: "0" }, { ...all, n: 7, data, gone: null }],
    { "x-a": ["b"] },
    "application/cloudevents-batch+json",
  );
  expect(inBatch).toEqual(expected);
  const headers = { "x-a": ["b"], ...HEADERS, "ce-subject": ["a%20b"], "ce-n": ["7"] };
  expect(binary(headers, data, "application/json")).toEqual(expected);
  expect(cloudEventsOf("batch", [], {}, undefined)).toEqual([]);
});

test("data may be any JSON, or absent; what is no percent encoding stays", () => {
  for (const data of ["text", 7, [1], null, false, { a: 1 }]) {
    expect(structured({ ...EVENT, data })?.payload).toEqual(data);
  }
  expect(structured(EVENT)?.payload).toBeNull();
  expect(binary({ ...HEADERS, "ce-subject": ["100%"] })?.metadata["ce-subject"]).toEqual(["100%"]);
});

test("data in base64 is read when it is JSON, and stays as it is when not", () => {
  const encoded = (text: string) => Buffer.from(text).toString("base64");
  const event = (text: string, datacontenttype?: string) =>
    structured({
      ...EVENT,
      ...(datacontenttype !== undefined && { datacontenttype }),
      data_base64: text,
    })?.payload;
  expect(event(encoded('{"a":"ü"}'))).toEqual({ a: "ü" });
  expect(event(encoded("[1]"), "application/vnd.x+json; charset=utf-8")).toEqual([1]);
  expect(event(encoded("[1]").replaceAll("=", ""), "text/json")).toEqual([1]);
  expect(event(encoded("[1]"), "application/octet-stream")).toBe(encoded("[1]"));
  expect(event("", "image/png")).toBe("");
  for (const [text, type] of [["no base64!", "image/png"], [encoded("no JSON"), undefined]]) {
    expect(refusalOf(() => event(text ?? "", type))).toMatch(/^400 data_base64: /);
  }
  expect(refusalOf(() => structured({ ...EVENT, data: 1, data_base64: "" })))
    .toMatch(/^400 data_base64: there is data as well/);
});

test.each<[JsonObject, string]>([
  [{ id: null }, "id: a CloudEvent needs it"],
  [{ source: null }, "source: a CloudEvent needs it"],
  [{ type: null }, "type: a CloudEvent needs it"],
  [{ specversion: null }, "specversion: a CloudEvent needs it"],
  [{ specversion: "0.3" }, "specversion: 0.3 is not known, send 1.0"],
  [{ id: "" }, "id: it must not be empty"],
  [{ id: 7 }, "id: a string is needed"],
  [{ source: "a b" }, "source: it is not a URI"],
  [{ time: "yesterday" }, "time: yesterday is not a time such as"],
  [{ time: "2026-13-01T00:00:00Z" }, "time: "],
  [{ Upper: "x" }, "Upper: the name of an attribute"],
  [{ "a-b": "x" }, "a-b: the name of an attribute"],
  [JSON.parse('{"__proto__": "x"}'), "__proto__: the name of an attribute"],
  [{ x: {} }, "x: an attribute of a CloudEvent must be a string, a boolean or an integer"],
  [{ x: 1.5 }, "x: an attribute"],
  [{ x: "v".repeat(4_097) }, "x: 4097 characters, at most 4096"],
  [
    Object.fromEntries(Array.from({ length: 61 }, (_, n) => [`a${n}`, "x"])),
    "a CloudEvent has at most 64",
  ],
])("%o is refused", (change, message) => {
  const event = { ...EVENT, ...change };
  expect(refusalOf(() => structured(event))).toContain(`400 ${message}`);
  const batch = () => cloudEventsOf("batch", [EVENT, event], {}, undefined);
  const place = message.includes(":") ? "[1]." : "";
  expect(refusalOf(batch)).toContain(`400 ${place}${message}`);
});

test("headers and bodies of another form are refused", () => {
  const { "ce-source": _, ...rest } = HEADERS;
  expect(refusalOf(() => binary(rest))).toBe("400 header ce-source: a CloudEvent needs it");
  expect(refusalOf(() => binary({ ...HEADERS, "ce-a": ["1", "2"] })))
    .toBe("400 header ce-a: it occurs 2 times");
  expect(refusalOf(() => binary({ ...HEADERS, "ce-a_b": ["1"] }))).toMatch(/^400 header ce-a_b: /);
  expect(refusalOf(() => binary({ ...HEADERS, "ce-data": ["1"] }))).toMatch(
    /^400 header ce-data: /,
  );
  for (const body of [undefined, null, "text", [EVENT]]) {
    expect(refusalOf(() => structured(body))).toMatch(/a CloudEvent must be a JSON object/);
  }
  const batch = (body: Json | undefined) => cloudEventsOf("batch", body, {}, undefined);
  expect(refusalOf(() => batch(EVENT))).toBe("400 a batch of CloudEvents must be a JSON list");
  expect(refusalOf(() => batch(["x"]))).toBe("400 [0]: a CloudEvent must be a JSON object");
  expect(refusalOf(() => batch(Array.from({ length: 101 }, () => EVENT))))
    .toBe("400 a batch has at most 100 CloudEvents, not 101");
});
