// Copyright 2026 the @proc/group authors. MIT license.

/** How a program is started on a terminal, and what is recorded of it. */

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { spawnPty, type SpawnPtyOptions } from "../pty.ts";
import { NEEDS_FFI } from "./_pty_util.ts";
import { watchLeaks } from "./_util.ts";

watchLeaks();

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
      await pty.waitNoEcho(10_000, { raw: true });
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
