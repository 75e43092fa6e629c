// deno-lint-ignore-file no-non-null-assertion -- all indexes of words are in range
/** Check sums of sprig: SHA-1, SHA-256, SHA-512 and Adler-32, as text. */
import { goFunction } from "./go_call.ts";
import type { GoFunction } from "./values.ts";
import { utf8Bytes } from "./utf8.ts";

/** The first primes, from whose roots the constants of SHA-2 come. */
function primes(count: number): bigint[] {
  const found: bigint[] = [];
  for (let n = 2n; found.length < count; n++) {
    if (found.every((prime) => n % prime !== 0n)) found.push(n);
  }
  return found;
}

/** Integer part of the k-th root. */
function root(value: bigint, k: bigint): bigint {
  let low = 0n;
  let high = 1n << (BigInt(value.toString(2).length) / k + 1n);
  while (low < high) {
    const middle = (low + high + 1n) >> 1n;
    if (middle ** k <= value) low = middle;
    else high = middle - 1n;
  }
  return low;
}

/** The first `bits` bits of the fraction of the k-th root of a prime. */
function fraction(prime: bigint, k: bigint, bits: number): bigint {
  return BigInt.asUintN(bits, root(prime << (BigInt(bits) * k), k));
}

const PRIMES = primes(80);
const K512: Int32Array = halves(PRIMES.map((prime) => fraction(prime, 3n, 64)));
const H512: Int32Array = halves(PRIMES.slice(0, 8).map((prime) => fraction(prime, 2n, 64)));
const K256: Int32Array = highs(K512).slice(0, 64);
const H256: Int32Array = highs(H512);

/** 64-bit words as pairs of their high and low 32 bits. */
function halves(words: bigint[]): Int32Array {
  return Int32Array.from(
    words.flatMap((
      word,
    ) => [Number(BigInt.asIntN(32, word >> 32n)), Number(BigInt.asIntN(32, word))]),
  );
}

/** The high halves; the constants of SHA-256 are those of SHA-512, cut. */
function highs(pairs: Int32Array): Int32Array {
  return pairs.filter((_, i) => i % 2 === 0);
}

/** A message with its end mark and length, in whole blocks, as big-endian 32-bit words. */
function padded(bytes: Uint8Array, blockBytes: number): DataView {
  const lengthBytes = blockBytes / 8;
  const total = Math.ceil((bytes.length + 1 + lengthBytes) / blockBytes) * blockBytes;
  const message = new Uint8Array(total);
  message.set(bytes);
  message[bytes.length] = 0x80;
  const view = new DataView(message.buffer);
  view.setUint32(total - 8, Math.floor(bytes.length / 0x20000000));
  view.setUint32(total - 4, (bytes.length * 8) >>> 0);
  return view;
}

function hex(words: Int32Array): string {
  return Array.from(words, (word) => (word >>> 0).toString(16).padStart(8, "0")).join("");
}

const left = (x: number, n: number) => (x << n) | (x >>> (32 - n));
const right = (x: number, n: number) => (x >>> n) | (x << (32 - n));

/** SHA-1 in hexadecimal. */
export function sha1(bytes: Uint8Array): string {
  const h = Int32Array.of(0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0);
  const view = padded(bytes, 64);
  const w = new Int32Array(80);
  for (let block = 0; block < view.byteLength; block += 64) {
    for (let i = 0; i < 16; i++) w[i] = view.getInt32(block + i * 4);
    for (let i = 16; i < 80; i++) w[i] = left(w[i - 3]! ^ w[i - 8]! ^ w[i - 14]! ^ w[i - 16]!, 1);
    let [a, b, c, d, e] = h as unknown as [number, number, number, number, number];
    for (let i = 0; i < 80; i++) {
      const [f, k] = i < 20
        ? [(b & c) | (~b & d), 0x5a827999]
        : i < 40
        ? [b ^ c ^ d, 0x6ed9eba1]
        : i < 60
        ? [(b & c) | (b & d) | (c & d), 0x8f1bbcdc]
        : [b ^ c ^ d, 0xca62c1d6];
      const next = (left(a, 5) + f + e + k + w[i]!) | 0;
      [a, b, c, d, e] = [next, a, left(b, 30), c, d];
    }
    [a, b, c, d, e].forEach((word, i) => h[i] = h[i]! + word);
  }
  return hex(h);
}

/** SHA-256 in hexadecimal. */
export function sha256(bytes: Uint8Array): string {
  const h = H256.slice();
  const view = padded(bytes, 64);
  const w = new Int32Array(64);
  for (let block = 0; block < view.byteLength; block += 64) {
    for (let i = 0; i < 16; i++) w[i] = view.getInt32(block + i * 4);
    for (let i = 16; i < 64; i++) {
      const x = w[i - 15]!;
      const y = w[i - 2]!;
      const s0 = right(x, 7) ^ right(x, 18) ^ (x >>> 3);
      const s1 = right(y, 17) ^ right(y, 19) ^ (y >>> 10);
      w[i] = w[i - 16]! + s0 + w[i - 7]! + s1;
    }
    const v = h.slice();
    for (let i = 0; i < 64; i++) {
      const a = v[0]!;
      const e = v[4]!;
      const s1 = right(e, 6) ^ right(e, 11) ^ right(e, 25);
      const choice = (e & v[5]!) ^ (~e & v[6]!);
      const t1 = (v[7]! + s1 + choice + K256[i]! + w[i]!) | 0;
      const s0 = right(a, 2) ^ right(a, 13) ^ right(a, 22);
      const majority = (a & v[1]!) ^ (a & v[2]!) ^ (v[1]! & v[2]!);
      v.copyWithin(1, 0, 7);
      v[4] = v[4]! + t1;
      v[0] = t1 + s0 + majority;
    }
    for (let i = 0; i < 8; i++) h[i] = h[i]! + v[i]!;
  }
  return hex(h);
}

/** SHA-512 in hexadecimal. Words are pairs of 32-bit halves; adding goes through doubles, which hold the carries. */
export function sha512(bytes: Uint8Array): string {
  const h = H512.slice();
  const view = padded(bytes, 128);
  const w = new Int32Array(160);
  const v = new Int32Array(16);
  const sum = (target: Int32Array, at: number, highs: number[], lows: number[]) => {
    let low = 0;
    for (const part of lows) low += part >>> 0;
    let high = Math.floor(low / 0x100000000);
    for (const part of highs) high += part >>> 0;
    target[at] = high % 0x100000000 | 0;
    target[at + 1] = low % 0x100000000 | 0;
  };
  for (let block = 0; block < view.byteLength; block += 128) {
    for (let i = 0; i < 32; i++) w[i] = view.getInt32(block + i * 4);
    for (let i = 32; i < 160; i += 2) {
      const [xh, xl, yh, yl] = [w[i - 30]!, w[i - 29]!, w[i - 4]!, w[i - 3]!];
      const s0h = rotate(xh, xl, 1) ^ rotate(xh, xl, 8) ^ (xh >>> 7);
      const s0l = rotate(xl, xh, 1) ^ rotate(xl, xh, 8) ^ ((xl >>> 7) | (xh << 25));
      const s1h = rotate(yh, yl, 19) ^ rotate(yh, yl, 61) ^ (yh >>> 6);
      const s1l = rotate(yl, yh, 19) ^ rotate(yl, yh, 61) ^ ((yl >>> 6) | (yh << 26));
      sum(w, i, [w[i - 32]!, s0h, w[i - 14]!, s1h], [w[i - 31]!, s0l, w[i - 13]!, s1l]);
    }
    v.set(h);
    for (let i = 0; i < 160; i += 2) {
      const [ah, al, bh, bl, ch, cl] = [v[0]!, v[1]!, v[2]!, v[3]!, v[4]!, v[5]!];
      const [eh, el, fh, fl, gh, gl] = [v[8]!, v[9]!, v[10]!, v[11]!, v[12]!, v[13]!];
      const s1h = rotate(eh, el, 14) ^ rotate(eh, el, 18) ^ rotate(eh, el, 41);
      const s1l = rotate(el, eh, 14) ^ rotate(el, eh, 18) ^ rotate(el, eh, 41);
      const t1 = new Int32Array(2);
      sum(
        t1,
        0,
        [v[14]!, s1h, (eh & fh) ^ (~eh & gh), K512[i]!, w[i]!],
        [v[15]!, s1l, (el & fl) ^ (~el & gl), K512[i + 1]!, w[i + 1]!],
      );
      const s0h = rotate(ah, al, 28) ^ rotate(ah, al, 34) ^ rotate(ah, al, 39);
      const s0l = rotate(al, ah, 28) ^ rotate(al, ah, 34) ^ rotate(al, ah, 39);
      v.copyWithin(2, 0, 14);
      sum(v, 8, [v[8]!, t1[0]!], [v[9]!, t1[1]!]);
      sum(
        v,
        0,
        [t1[0]!, s0h, (ah & bh) ^ (ah & ch) ^ (bh & ch)],
        [t1[1]!, s0l, (al & bl) ^ (al & cl) ^ (bl & cl)],
      );
    }
    for (let i = 0; i < 16; i += 2) sum(h, i, [h[i]!, v[i]!], [h[i + 1]!, v[i + 1]!]);
  }
  return hex(h);
}

/** One half of a 64-bit word turned right: the half itself, the other half, the distance. */
function rotate(half: number, other: number, n: number): number {
  return n < 32 ? (half >>> n) | (other << (32 - n)) : (other >>> (n - 32)) | (half << (64 - n));
}

/** Adler-32 as a number. */
export function adler32(bytes: Uint8Array): number {
  let a = 1;
  let b = 0;
  for (const byte of bytes) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  return b * 65536 + a;
}

/** Steps that one takes besides those for its characters: the last block of a text is filled up. */
const STEPS_PER_HASH = 200;

/** The check sum functions, by name. */
export const HASH_FUNCTIONS: readonly GoFunction[] = [
  goFunction("sha1sum", ["string"], (context, text) => {
    context.step(STEPS_PER_HASH);
    return sha1(utf8Bytes(text));
  }),
  goFunction("sha256sum", ["string"], (context, text) => {
    context.step(STEPS_PER_HASH);
    return sha256(utf8Bytes(text));
  }),
  goFunction("sha512sum", ["string"], (context, text) => {
    context.step(4 * STEPS_PER_HASH);
    return sha512(utf8Bytes(text));
  }),
  goFunction("adler32sum", ["string"], (_, text) => String(adler32(utf8Bytes(text)))),
];
