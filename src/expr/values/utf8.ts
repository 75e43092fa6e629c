/**
 * Strings as the UTF-8 bytes the language sees. Invalid bytes 0x80–0xFF survive as lone surrogates U+DC80–U+DCFF,
 * so cutting a string inside a character and joining the parts again loses nothing.
 */

import type { Budget } from "./budget.ts";

const ENCODER = new TextEncoder();
const STRICT_DECODER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
// deno-lint-ignore no-control-regex
const NON_ASCII = /[^\x00-\x7f]/;

/** Tells whether every character is one byte. */
export function isAscii(text: string): boolean {
  return !NON_ASCII.test(text);
}

/** Number of UTF-8 bytes. */
export function byteLength(text: string): number {
  return isAscii(text) ? text.length : utf8Bytes(text).length;
}

/** Takes the steps for finding the bytes of a string; that is slow if some are invalid. */
export function payForBytes(text: string, budget: Budget): void {
  if (text.length > 32) budget.step(text.length / (text.isWellFormed() ? 8 : 1));
}

/** The UTF-8 bytes of a string. A lone surrogate that stands for no byte becomes U+FFFD. */
export function utf8Bytes(text: string): Uint8Array {
  if (text.isWellFormed()) return ENCODER.encode(text);
  const out: number[] = [];
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0;
    if (code >= 0xdc80 && code <= 0xdcff) out.push(code - 0xdc00);
    else for (const byte of ENCODER.encode(char)) out.push(byte);
  }
  return Uint8Array.from(out);
}

/** The string of UTF-8 bytes; the inverse of {@link utf8Bytes}. */
export function utf8String(bytes: Uint8Array): string {
  // The decoder's error for an invalid byte costs more than checking a few bytes.
  if (bytes.length <= 64) return repairedString(bytes);
  try {
    return STRICT_DECODER.decode(bytes);
  } catch {
    return repairedString(bytes);
  }
}

function repairedString(bytes: Uint8Array): string {
  let text = "";
  let i = 0;
  while (i < bytes.length) {
    const size = sequenceSize(bytes, i);
    if (size === 0) text += String.fromCharCode(0xdc00 + (bytes[i++] as number));
    else {
      text += String.fromCodePoint(decodeAt(bytes, i, size));
      i += size;
    }
  }
  return text;
}

/** Length of the valid sequence at an index, 0 when the byte is invalid. */
function sequenceSize(bytes: Uint8Array, i: number): number {
  const first = bytes[i] as number;
  if (first < 0x80) return 1;
  const size = first >= 0xc2 && first <= 0xdf
    ? 2
    : first >= 0xe0 && first <= 0xef
    ? 3
    : first >= 0xf0 && first <= 0xf4
    ? 4
    : 0;
  if (size === 0 || i + size > bytes.length) return 0;
  const second = bytes[i + 1] as number;
  const low = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const high = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  if (second < low || second > high) return 0;
  for (let k = 2; k < size; k++) if (((bytes[i + k] as number) & 0xc0) !== 0x80) return 0;
  return size;
}

function decodeAt(bytes: Uint8Array, i: number, size: number): number {
  let code = size === 1
    ? bytes[i] as number
    : (bytes[i] as number) & (size === 2 ? 0x1f : size === 3 ? 0x0f : 0x07);
  for (let k = 1; k < size; k++) code = (code << 6) | ((bytes[i + k] as number) & 0x3f);
  return code;
}

/** The part of a string between two byte offsets, which must be within it. */
export function byteSlice(text: string, from: number, to: number): string {
  return isAscii(text) ? text.slice(from, to) : utf8String(utf8Bytes(text).subarray(from, to));
}

/** Number of code points; an invalid byte counts as one. */
export function runeCount(text: string): number {
  if (isAscii(text)) return text.length;
  let count = text.length;
  for (let i = 1; i < text.length; i++) {
    // A pair of surrogates is one character.
    if ((text.charCodeAt(i) & 0xfc00) === 0xdc00 && (text.charCodeAt(i - 1) & 0xfc00) === 0xd800) {
      count--;
    }
  }
  return count;
}

/** The string with every invalid byte replaced by U+FFFD. */
export function wellFormed(text: string): string {
  return text.toWellFormed();
}

/** Joins two strings; bytes of one character that meet become that character again. */
export function joinText(left: string, right: string): string {
  if (!isLooseByte(left.charCodeAt(left.length - 1)) || !isLooseByte(right.charCodeAt(0))) {
    return left + right;
  }
  return utf8String(utf8Bytes(left + right));
}

function isLooseByte(unit: number): boolean {
  return unit >= 0xdc80 && unit <= 0xdcff;
}

/** Orders two strings by their UTF-8 bytes. */
export function compareStrings(a: string, b: string): number {
  if (a === b) return 0;
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    const left = a.charCodeAt(i);
    const right = b.charCodeAt(i);
    if (left === right) continue;
    return a.isWellFormed() && b.isWellFormed()
      ? codePointRank(left) - codePointRank(right)
      : compareLoose(a, b, i);
  }
  return a.length - b.length;
}

/** Orders two strings with loose bytes that are alike up to an index. To find all their bytes would take long. */
function compareLoose(a: string, b: string, index: number): number {
  // The two halves of a pair stay together.
  const at = index > 0 && isHighHalf(a, index - 1) ? index - 1 : index;
  const [restA, restB] = [a.slice(at), b.slice(at)];
  // Loose bytes may be the same as a character of the other text.
  return sharedDifference(utf8Bytes(firstOf(restA)), utf8Bytes(firstOf(restB))) ||
    compareBytes(utf8Bytes(restA), utf8Bytes(restB));
}

/** The first characters of a text: enough to tell two apart, and whole. */
function firstOf(text: string): string {
  return text.slice(0, isHighHalf(text, 7) ? 7 : 8);
}

function isHighHalf(text: string, index: number): boolean {
  return (text.charCodeAt(index) & 0xfc00) === 0xd800;
}

/** Moves surrogates above the rest of the basic plane, where their code points are. */
function codePointRank(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit >= 0xe000 ? unit - 0x800 : unit + 0x2000;
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  return sharedDifference(a, b) || a.length - b.length;
}

/** The difference of the first bytes that differ; 0 if one is the beginning of the other. */
function sharedDifference(a: Uint8Array, b: Uint8Array): number {
  const shared = Math.min(a.length, b.length);
  for (let i = 0; i < shared; i++) {
    const difference = (a[i] as number) - (b[i] as number);
    if (difference !== 0) return difference;
  }
  return 0;
}
