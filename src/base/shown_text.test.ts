import { expect, test } from "vitest";
import { shownText } from "./shown_text.ts";

test.each([
  ["report\u202efdp.exe", "report\\u202efdp.exe"],
  ["\u2066isolated\u2069 \u200emark\u061c", "\\u2066isolated\\u2069 \\u200emark\\u061c"],
  ["ad\u200bmin\u00ad \u2060\ufeff\u3164", "ad\\u200bmin\\u00ad \\u2060\\ufeff\\u3164"],
  ["a\u200db\ufe0f", "a\\u200db\\ufe0f"],
  ["tag\u{e0041}", "tag\\udb40\\udc41"],
  ["\u0000\u001b[31m\u007f\u0085\u2028", "\\u0000\\u001b[31m\\u007f\\u0085\\u2028"],
])("%j is shown as %j", (text, shown) => expect(shownText(text)).toBe(shown));

test.each([
  "two\nlines\twith a tab\r\n",
  "👩‍👩‍👧 ✔️ 1️⃣ 🏳️‍🌈",
  "می‌خواهم",
  "שלום עולם",
  "日本語 ümlaut é",
])("%j stays", (text) => expect(shownText(text)).toBe(text));
