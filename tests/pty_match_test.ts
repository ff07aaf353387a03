// Copyright 2026 the @proc/group authors. MIT license.

import { assert, assertEquals, assertThrows } from "@std/assert";
import { OutputBuffer } from "../_pty_buffer.ts";
import { PatternSearch, RESCAN_LENGTH } from "../_pty_match.ts";
import type { PtyPattern } from "../pty.ts";

/** A small random generator with a seed (mulberry32), so that runs repeat. */
function randomSource(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

/** Feeds text in pieces; gives what was found and where it starts. */
function searchIn(
  pieces: string[],
  patterns: PtyPattern[],
): { index: number; start: number; text: string } | null {
  const search = new PatternSearch(patterns);
  let length = 0;
  for (const piece of pieces) {
    length += piece.length;
    const found = search.push(piece);
    if (found) {
      const { index, text } = found;
      return { index, start: length - found.fromEnd, text };
    }
  }
  return null;
}

function splitAtRandom(text: string, random: (below: number) => number) {
  const pieces: string[] = [];
  for (let at = 0; at < text.length;) {
    const length = 1 + random(7);
    pieces.push(text.slice(at, at + length));
    at += length;
  }
  return pieces;
}

Deno.test("PatternSearch finds the same whatever pieces the text comes in", () => {
  const random = randomSource(1);
  for (let round = 0; round < 3000; round++) {
    const text = Array.from({ length: 60 }, () => "ab\n"[random(3)]).join("");
    const length = 1 + random(5);
    const needle = Array.from({ length }, () => "ab\n"[random(3)]).join("");
    const start = text.indexOf(needle);
    const pieces = splitAtRandom(text, random);
    const expected = start < 0 ? null : { index: 0, start, text: needle };
    assertEquals(searchIn(pieces, [needle]), expected);
    assertEquals(searchIn(pieces, [RegExp(needle)]), expected);
  }
});

Deno.test("PatternSearch gives the earliest match, then the first pattern", () => {
  const random = randomSource(2);
  for (let round = 0; round < 2000; round++) {
    const text = Array.from({ length: 40 }, () => "abc"[random(3)]).join("");
    const needles = Array.from(
      { length: 3 },
      () => "abc"[random(3)]! + "abc"[random(3)]!,
    );
    const starts = needles.map((needle) => text.indexOf(needle));
    const start = Math.min(...starts.filter((start) => start >= 0));
    const index = starts.indexOf(start);
    const expected = index < 0 ? null : { index, start, text: needles[index]! };
    const patterns = needles.map((needle) =>
      random(2) ? needle : RegExp(needle)
    );
    assertEquals(searchIn(splitAtRandom(text, random), patterns), expected);
  }
});

Deno.test("PatternSearch gives captures and groups of a RegExp", () => {
  const search = new PatternSearch([/(?<key>\w+)=(\d+)?;/g]);
  assertEquals(search.push("a=1"), null);
  const found = search.push("; b=2;");
  assertEquals(found?.captures, ["a", "1"]);
  assertEquals(found?.groups, { key: "a" });
  assertEquals(found?.fromEnd, 9);
});

Deno.test("PatternSearch anchors at the start of all text, not of a piece", () => {
  assertEquals(searchIn(["x".repeat(50_000), "foo"], [/^foo/]), null);
  assertEquals(searchIn(["x", "foo"], [/^foo/]), null);
  assertEquals(searchIn(["fo", "o"], [/^foo/])?.start, 0);
  const text = "x".repeat(50_000) + "\n";
  assertEquals(searchIn([text, "fo", "o"], [/^foo/m])?.start, 50_001);
  assertEquals(searchIn([text, "foo"], [/(?<=x\n)foo/])?.start, 50_001);
});

Deno.test("PatternSearch finds a RegExp of the documented length over pieces", () => {
  const filling = "-".repeat(RESCAN_LENGTH - 2);
  const pieces = ["y".repeat(30_000), "<", filling, ">"];
  assertEquals(searchIn(pieces, [/<-*>/])?.start, 30_000);
  const longer = ["y".repeat(30_000), "<", filling + "--", ">"];
  assertEquals(searchIn(longer, [/<-*>/]), null);
});

Deno.test("PatternSearch reads 25 MB without a match in linear time", () => {
  const piece = ("0123456789abcdef".repeat(8) + "\r\n").repeat(32);
  const search = new PatternSearch(["no such text", /no such (\w+) text/]);
  const buffer = new OutputBuffer(512 * 1024);
  const bytes = new TextEncoder().encode(piece);
  const startedAt = performance.now();
  for (let total = 0; total < 25_000_000; total += bytes.length) {
    buffer.push(bytes);
    assertEquals(search.push(buffer.decode()), null);
  }
  // A search of the whole buffer each time takes minutes.
  assert(performance.now() - startedAt < 10_000);
});

Deno.test("PatternSearch rejects an empty string and what is no pattern", () => {
  assertThrows(() => new PatternSearch([""]), RangeError);
  assertThrows(() => new PatternSearch([1 as unknown as string]), TypeError);
});

Deno.test("OutputBuffer consumes the bytes of the text for any bytes", () => {
  const random = randomSource(3);
  const samples = [
    ..."aé€😀\ufeff",
  ].map((character) => [...new TextEncoder().encode(character)]);
  samples.push([0xff], [0xc0], [0xe2, 0x82], [0xf0, 0x9f, 0x98], [0xed, 0xa0]);
  for (let round = 0; round < 3000; round++) {
    const bytes = Uint8Array.from(
      Array.from({ length: 12 }, () => samples[random(samples.length)]!).flat(),
    );
    const buffer = new OutputBuffer(1024);
    for (let at = 0; at < bytes.length;) {
      const end = at + 1 + random(5);
      buffer.push(bytes.subarray(at, end));
      at = end;
    }
    const text = buffer.text();
    const units = random(text.length + 1);
    buffer.consume(units);
    const rest = text.slice(units);
    const decode = new TextDecoder("utf-8", { ignoreBOM: true });
    // A cut inside a surrogate pair takes the character whole.
    const whole = /^[\udc00-\udfff]/.test(rest) ? rest.slice(1) : rest;
    assertEquals(buffer.text(), whole);
    assertEquals(decode.decode(buffer.take(), { stream: true }), whole);
    assertEquals(buffer.byteLength, 0);
  }
});

Deno.test("OutputBuffer keeps the newest bytes and counts what it dropped", () => {
  const random = randomSource(4);
  const buffer = new OutputBuffer(1000);
  let all = "";
  for (let round = 0; round < 2000; round++) {
    const piece = "aé€😀"[random(4)]!.repeat(1 + random(40));
    all += new TextDecoder().decode(new TextEncoder().encode(piece));
    buffer.push(new TextEncoder().encode(piece));
    assert(buffer.byteLength <= 2200);
    assert(all.endsWith(buffer.text()));
  }
  const total = new TextEncoder().encode(all).length;
  assertEquals(buffer.droppedBytes + buffer.byteLength, total);
  assert(buffer.byteLength >= 1000);
  const text = buffer.text();
  assertEquals(new TextDecoder().decode(buffer.take()), text);
});
