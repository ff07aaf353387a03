// Copyright 2026 the @proc/group authors. MIT license.

import {
  assert,
  assertEquals,
  assertInstanceOf,
  assertRejects,
  assertThrows,
} from "@std/assert";
import { killGroup, stopGroup, waitGone } from "../process_group.ts";
import { PtyWaitError, spawnPty, type SpawnPtyOptions } from "../pty.ts";
import { DeadlineExceededError, withDeadline } from "../timeout.ts";
import { NEEDS_FFI } from "./_pty_util.ts";
import {
  alive,
  assertNoneAlive,
  countListeners,
  runDeno,
  runProgram,
  uniqueSleep,
  until,
  watchLeaks,
} from "./_util.ts";

watchLeaks();

Deno.test(
  "Pty.waitFor() consumes up to the match, and readable the rest",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("printf", ["one two\\nthree é four"]);
    const match = await pty.waitFor(["four", /t(?<rest>\w+)/], 10_000);
    assertEquals(match, {
      index: 1,
      text: "two",
      before: "one ",
      captures: ["wo"],
      groups: { rest: "wo" },
      droppedBytes: 0,
    });
    assertEquals((await pty.waitFor("é", 10_000)).before, "\r\nthree ");
    assertEquals(await new Response(pty.readable).text(), " four");
  },
);

Deno.test(
  "Pty.waitFor() rejects at the deadline and consumes nothing",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("sh", ["-c", "echo hello; exec sleep 40"]);
    await pty.waitFor("he", 10_000);
    const error = await assertRejects(
      () => pty.waitFor(/never/, 200),
      PtyWaitError,
      '/never/ within 200 ms: the program runs, the last output is "llo',
    );
    assertEquals(error.reason, "timeout");
    assertEquals(error.status, null);
    assertEquals(error.tail, "llo\r\n");
    assertInstanceOf(error.cause, DOMException);
    assertEquals((await pty.waitFor("llo", 10_000)).before, "");
  },
);

Deno.test(
  "Pty.waitFor() rejects at the end with the status",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("sh", ["-c", "echo oops; exit 7"]);
    const error = await assertRejects(
      () => pty.waitFor("login: ", 10_000),
      PtyWaitError,
      "ended with code 7",
    );
    assertEquals(error.reason, "end");
    assertEquals(error.status?.code, 7);
    assertEquals(error.tail, "oops\r\n");
    const end = await pty.waitFor([], 10_000, { allowEnd: true });
    assertEquals([end.index, end.before], [-1, "oops\r\n"]);
  },
);

Deno.test(
  "Pty.waitFor() takes a signal and lets go of it",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("sh", ["-c", "echo ready; exec sleep 40"]);
    const controller = new AbortController();
    const { signal } = controller;
    const listeners = countListeners(signal);
    await pty.waitFor("ready", 10_000, { signal });
    assertEquals(listeners(), 0);
    const waiting = pty.waitFor("never", 60_000, { signal });
    const reason = new Error("enough");
    controller.abort(reason);
    assertEquals(await assertRejects(() => waiting), reason);
    assertEquals(listeners(), 0);
    assertEquals(
      await assertRejects(() => pty.waitFor("x", 1, { signal })),
      reason,
    );
    assertEquals(
      await assertRejects(() => pty.waitNoEcho(1, { signal })),
      reason,
    );
  },
);

Deno.test("Pty.waitFor() has the output to itself", NEEDS_FFI, async () => {
  await using pty = spawnPty("cat", { echo: false });
  const waiting = pty.waitFor("first", 10_000);
  await assertRejects(() => pty.waitFor("x", 1), TypeError, "somebody else");
  // A stream waits for its turn.
  const reader = pty.readable.getReader();
  const reading = reader.read();
  await pty.write("first second\n");
  await waiting;
  const { value } = await reading;
  assertEquals(new TextDecoder().decode(value), " second\r\n");
  await assertRejects(() => pty.waitFor("x", 1), TypeError, "locked");
  reader.releaseLock();
});

Deno.test(
  "Pty.waitFor() gets what a released reader has asked for",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("cat", { echo: false });
    const reader = pty.readable.getReader();
    const reading = reader.read();
    reader.releaseLock();
    await assertRejects(() => reading, TypeError);
    await pty.write("hello\n");
    await pty.waitFor("hello", 10_000);
  },
);

Deno.test(
  "Pty.waitFor() finds what comes after 25 MB of other output",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("sh", [
      "-c",
      "stty -opost; yes 0123456789abcdef | head -c 25000000; echo found it",
    ]);
    const { before, droppedBytes } = await pty.waitFor(/found (\w+)/, 60_000);
    assertEquals(before.length + droppedBytes, 25_000_000);
    // What was matched is part of what is kept.
    const kept = (before.length + "found it\r\n".length) / 1024;
    assert(kept >= 512 && kept < 1400, `${kept} KiB are kept`);
  },
);

Deno.test("Pty.waitFor() checks its arguments", NEEDS_FFI, async () => {
  await using pty = spawnPty("cat");
  await assertRejects(() => pty.waitFor("", 10), RangeError);
  await assertRejects(() => pty.waitFor([], 10), RangeError);
  await assertRejects(() => pty.waitFor("x", -1), RangeError);
  await assertRejects(() => pty.waitFor("x", NaN), RangeError);
  const wrong = 5 as unknown as string;
  await assertRejects(() => pty.waitFor(wrong, 10), TypeError);
  await assertRejects(() => pty.waitFor("x", "1" as never), TypeError);
  await assertRejects(() => pty.write(wrong), TypeError);
  assertThrows(() => pty.resize({ columns: 0, rows: 1 }), RangeError);
});

Deno.test(
  "Pty.waitNoEcho() rejects at the deadline and at the end",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("sh", ["-c", "read -r line; exit 4"]);
    const late = await assertRejects(() => pty.waitNoEcho(50), PtyWaitError);
    assertEquals(late.reason, "timeout");
    const waiting = pty.waitNoEcho(10_000);
    await pty.write("\n");
    const error = await assertRejects(() => waiting, PtyWaitError);
    assertEquals(error.reason, "end");
    assertEquals(error.status?.code, 4);
  },
);

Deno.test(
  "Pty.write() rejects after the end, and resize does nothing",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("true", { columns: 90, rows: 20 });
    await pty.waitFor([], 10_000, { allowEnd: true });
    await assertRejects(() => pty.write("x"), Deno.errors.BrokenPipe);
    await assertRejects(() => pty.sendEof());
    pty.resize({ columns: 10, rows: 10 });
    assertEquals(pty.size(), { columns: 90, rows: 20 });
  },
);

Deno.test("Pty.resize() tells the program", NEEDS_FFI, async () => {
  await using pty = spawnPty("bash", [
    "-c",
    "trap 'stty size; exit' WINCH; echo ready; while :; do sleep .05; done",
  ]);
  await pty.waitFor("ready", 10_000);
  pty.resize({ columns: 101, rows: 37 });
  assertEquals(pty.size(), { columns: 101, rows: 37 });
  await pty.waitFor("37 101", 10_000);
});

Deno.test(
  "Pty.writable types and does not end the input when it closes",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("cat", { echo: false });
    const source = ReadableStream.from(["one\n", "two\n"]);
    await source.pipeThrough(new TextEncoderStream()).pipeTo(pty.writable);
    await pty.waitFor("two", 10_000);
    await pty.write("three\n");
    await pty.waitFor("three", 10_000);
  },
);

Deno.test(
  "Pty.readable lets the program go on when it is cancelled",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("sh", [
      "-c",
      "head -c 300000 /dev/zero; exit 5",
    ]);
    await pty.readable.cancel();
    assertEquals((await pty.status).code, 5);
  },
);

Deno.test("Pty.status does not wait for unread output", NEEDS_FFI, async () => {
  await using pty = spawnPty("sh", [
    "-c",
    "stty -opost; head -c 8000 /dev/zero",
  ]);
  assert((await pty.status).success);
  const bytes = await new Response(pty.readable).bytes();
  assertEquals(bytes.length, 8000);
});

Deno.test(
  "killGroup(), waitGone() and stopGroup() take a Pty",
  NEEDS_FFI,
  async () => {
    const unique = uniqueSleep();
    await using pty = spawnPty("sh", ["-c", `sleep ${unique} & echo up; wait`]);
    await pty.waitFor("up", 10_000);
    assert(killGroup(pty, "SIGTERM"));
    await waitGone(pty);
    assertEquals((await stopGroup(pty)).survivors, []);
    await assertNoneAlive(unique);
  },
);

Deno.test(
  "stopGroup() hangs the terminal up, which ends an interactive shell in time",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("bash", ["--norc", "-i"], {
      env: { PS1: "$ " },
      graceMs: 20_000,
    });
    await pty.waitFor("$ ", 10_000);
    // The shell ignores SIGTERM.
    const report = await stopGroup(pty);
    assert(!report.forced);
    assertEquals((await pty.status).signal, "SIGHUP");
  },
);

Deno.test(
  "stopGroup() ends a stopped program that ignores signals",
  NEEDS_FFI,
  async () => {
    const unique = uniqueSleep();
    await using pty = spawnPty("bash", [
      "-c",
      `trap '' HUP TERM; echo ready; sleep ${unique}; sleep ${unique}`,
    ], { graceMs: 100 });
    await pty.waitFor("ready", 10_000);
    killGroup(pty, "SIGSTOP");
    const report = await stopGroup(pty);
    assert(report.forced);
    await assertNoneAlive(unique);
  },
);

Deno.test(
  "withDeadline() takes a Pty and keeps its output",
  NEEDS_FFI,
  async () => {
    const unique = uniqueSleep();
    await using late = spawnPty("sh", ["-c", `echo hi; exec sleep ${unique}`]);
    const error = await assertRejects(
      () => withDeadline(late, 500),
      DeadlineExceededError,
    );
    assertEquals(new TextDecoder().decode(error.output?.stdout), "hi\r\n");
    await assertNoneAlive(unique);

    await using early = spawnPty("sh", ["-c", "echo out; echo err >&2"]);
    const output = await withDeadline(early, 30_000);
    assertEquals(new TextDecoder().decode(output.stdout), "out\r\nerr\r\n");
    assert(output.success && output.drained);
    assertThrows(() => output.stderr, TypeError);
  },
);

Deno.test(
  "spawnPty() sets TERM and does not pass on COLUMNS and LINES",
  NEEDS_FFI,
  async () => {
    Deno.env.set("COLUMNS", "13");
    Deno.env.set("LINES", "17");
    const show = async (options: SpawnPtyOptions) => {
      const script = "echo $TERM/$COLUMNS/$LINES/$OWN";
      await using pty = spawnPty("sh", ["-c", script], options);
      return (await pty.waitFor([], 10_000, { allowEnd: true })).before.trim();
    };
    try {
      assertEquals(await show({}), "xterm-256color///");
      assertEquals(await show({ term: "dumb", env: { OWN: "1" } }), "dumb///1");
      assertEquals(await show({ env: { TERM: "vt100" } }), "vt100///");
      assertEquals(await show({ clearEnv: true }), "xterm-256color///");
    } finally {
      Deno.env.delete("COLUMNS");
      Deno.env.delete("LINES");
    }
  },
);

Deno.test(
  "spawnPty() resets all signals of the program",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("grep", ["^Sig[IB]", "/proc/self/status"]);
    const { before } = await pty.waitFor([], 10_000, { allowEnd: true });
    assert(before.includes("SigIgn:\t0000000000000000"), before);
    assert(before.includes("SigBlk:\t0000000000000000"), before);
  },
);

Deno.test(
  "spawnPty() throws what is wrong before anything starts",
  NEEDS_FFI,
  async () => {
    assertThrows(() => spawnPty("no-such-program-here"), Deno.errors.NotFound);
    assertThrows(() => spawnPty("true", { columns: 0 }), RangeError);
    assertThrows(() => spawnPty("true", { rows: 70_000 }), RangeError);
    assertThrows(() => spawnPty("true", { rows: "24" as never }), TypeError);
    assertThrows(() => spawnPty("true", { drainMs: -1 }), RangeError);
    assertThrows(() => spawnPty("true", { term: "a\0b" }), TypeError);
    assertThrows(() => spawnPty("true", ["a\0b"]), TypeError);
    assertThrows(
      () => spawnPty("true", { longLines: "cut" as never }),
      TypeError,
    );
    assertThrows(() => spawnPty("true", { transcript: 3 as never }), TypeError);
    assertThrows(
      () => spawnPty("true", { transcript: "/no/such/directory/x" }),
      Deno.errors.NotFound,
    );
    const reason = new Error("not now");
    const signal = AbortSignal.abort(reason);
    try {
      await spawnPty("true", { signal }).status;
      throw new Error("It was started");
    } catch (error) {
      assertEquals(error, reason);
    }
  },
);

Deno.test(
  "spawnPty() stops the session when its signal aborts",
  NEEDS_FFI,
  async () => {
    const unique = uniqueSleep();
    const controller = new AbortController();
    await using pty = spawnPty("sh", ["-c", `echo up; sleep ${unique}; :`], {
      signal: controller.signal,
    });
    await pty.waitFor("up", 10_000);
    controller.abort();
    await waitGone(pty);
    await assertNoneAlive(unique);
  },
);

Deno.test(
  "spawnPty() records output, input without secrets, and sizes",
  NEEDS_FFI,
  async () => {
    let text = "";
    const transcript = new WritableStream<Uint8Array>({
      async write(chunk) {
        // A slow one loses nothing either.
        await new Promise((resolve) => setTimeout(resolve, 1));
        text += new TextDecoder().decode(chunk);
      },
    });
    {
      await using pty = spawnPty("bash", [
        "-c",
        "read -r name; read -rsp 'Secret: ' x; read -rsp 'Raw: ' -n 4 y; sleep 40",
      ], { transcript, columns: 70, rows: 20 });
      await pty.write("visible\n");
      await pty.waitFor("Secret: ", 10_000);
      await pty.waitNoEcho(10_000);
      // The secret may be typed in parts.
      await pty.write("hid");
      await pty.write("den\n");
      await pty.waitFor("Raw: ", 10_000);
      await pty.waitNoEcho(10_000);
      await pty.write("also");
      pty.resize({ columns: 71, rows: 21 });
    }
    const [header, ...events] = text.trimEnd().split("\n").map((line) =>
      JSON.parse(line)
    );
    assertEquals(header.width, 70);
    assertEquals(header.env.TERM, "xterm-256color");
    const of = (wanted: string) =>
      events.filter(([, kind]) => kind === wanted).map(([, , data]) => data);
    assertEquals(of("i"), ["visible\n"]);
    assertEquals(of("r"), ["71x21"]);
    assertEquals(of("o").join(""), "visible\r\nSecret: Raw: ");
  },
);

Deno.test(
  "spawnPty() leaves a failing transcript to disposal",
  NEEDS_FFI,
  async () => {
    const pty = spawnPty("echo", ["hello"], { transcript: "/dev/full" });
    await pty.waitFor("hello", 10_000);
    await assertRejects(
      () => pty[Symbol.asyncDispose](),
      Error,
      "No space left",
    );
  },
);

Deno.test(
  "Pty.unref() lets this process end, and the session with it",
  NEEDS_FFI,
  async () => {
    const unique = uniqueSleep();
    const startedAt = performance.now();
    const { code, stderr } = await runProgram("pty_unref.ts", {
      args: [unique],
    });
    assertEquals(code, 0, stderr);
    assert(performance.now() - startedAt < 20_000);
    await until(
      "the session is gone",
      async () => (await alive(unique)).length === 0,
    );
  },
);

Deno.test(
  "spawnPty() asks for the permission to run the program",
  NEEDS_FFI,
  async () => {
    const script = `import { spawnPty } from "./pty.ts";
    try { await spawnPty("true").status; console.log("ran"); } catch (error) {
      console.log(error instanceof Deno.errors.NotCapable, error.message);
    }`;
    const run = (...flags: string[]) =>
      runDeno([
        "run",
        "--no-prompt",
        "--allow-ffi",
        ...flags,
        evalFile(script),
      ]);
    assert((await run()).stdout.includes("--allow-run"));
    assertEquals((await run("--allow-run=true")).stdout, "ran\n");
  },
);

Deno.test("spawnPty() names the permission that is missing", {
  timeout: 60_000,
}, async () => {
  const script = `import { spawnPty } from "./pty.ts";
    try { spawnPty("true"); } catch (error) {
      console.log(error instanceof Deno.errors.NotCapable, error.message);
    }`;
  const { stdout, stderr } = await runDeno(
    ["run", "--no-prompt", "--allow-run", evalFile(script)],
  );
  assert(stdout.startsWith("true ") && stdout.includes("--allow-ffi"), stderr);
});

/** A module's text as something that can be run with few permissions. */
function evalFile(script: string): string {
  const url = new URL("../pty.ts", import.meta.url).href;
  return `data:application/typescript,${
    encodeURIComponent(script.replace("./pty.ts", url))
  }`;
}
