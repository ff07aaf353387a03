// Copyright 2026 the @proc/group authors. MIT license.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { Transcript } from "../_pty_transcript.ts";

const header = { columns: 80, rows: 24, term: "xterm-256color" };
const encoder = new TextEncoder();

function collector(): { stream: WritableStream<Uint8Array>; text(): string } {
  let text = "";
  const decoder = new TextDecoder();
  const stream = new WritableStream<Uint8Array>({
    write(chunk) {
      text += decoder.decode(chunk, { stream: true });
    },
  });
  return { stream, text: () => text };
}

function parse(text: string): unknown[] {
  return text.trimEnd().split("\n").map((line) => JSON.parse(line));
}

Deno.test("Transcript writes asciicast v2 with output, input and sizes", async () => {
  const { stream, text } = collector();
  const transcript = new Transcript(stream);
  transcript.start(header);
  transcript.output(encoder.encode("$ "));
  transcript.input(encoder.encode("ls\r"));
  transcript.resize(100, 50);
  await transcript.close();
  const [first, ...events] = parse(text()) as [
    Record<string, unknown>,
    ...[number, string, string][],
  ];
  assertEquals(first.version, 2);
  assertEquals([first.width, first.height], [80, 24]);
  assertEquals(first.env, { TERM: "xterm-256color" });
  assertEquals(events.map(([, kind, data]) => [kind, data]), [
    ["o", "$ "],
    ["i", "ls\r"],
    ["r", "100x50"],
  ]);
  const times = events.map(([time]) => time);
  assert(times.every((time) => time >= 0 && time < 60));
  assertEquals(times, times.toSorted((a, b) => a - b));
});

Deno.test("Transcript keeps a character whole that comes in two reads", async () => {
  const { stream, text } = collector();
  const transcript = new Transcript(stream);
  transcript.start(header);
  const bytes = encoder.encode("€");
  transcript.output(bytes.subarray(0, 2));
  transcript.output(bytes.subarray(2));
  transcript.output(bytes.subarray(0, 1));
  await transcript.close();
  const events = parse(text()).slice(1) as [number, string, string][];
  assertEquals(events.map(([, , data]) => data), ["€", "\ufffd"]);
});

Deno.test("Transcript writes a file at once that only its owner may read", async () => {
  const directory = await Deno.makeTempDir();
  const path = `${directory}/session.cast`;
  const transcript = new Transcript(path);
  transcript.start(header);
  transcript.output(encoder.encode("hello"));
  const lines = parse(await Deno.readTextFile(path));
  assertEquals(lines.length, 2);
  assertEquals((await Deno.stat(path)).mode! & 0o777, 0o600);
  await transcript.close();
  await transcript.close();
  await Deno.remove(directory, { recursive: true });
});

Deno.test("Transcript.close() rejects with the error that ended the recording", async () => {
  const failing = new WritableStream<Uint8Array>({
    write: () => Promise.reject(new Error("disk full")),
  });
  const transcript = new Transcript(failing);
  transcript.start(header);
  await transcript.written;
  transcript.output(encoder.encode("lost"));
  await assertRejects(() => transcript.close(), Error, "disk full");
});

Deno.test("Transcript.close() gives a stream up that takes no more", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const transcript = new Transcript(
    new WritableStream<Uint8Array>({ write: () => promise }),
  );
  transcript.start(header);
  await assertRejects(() => transcript.close(), Error, "takes no more");
  resolve();
});
