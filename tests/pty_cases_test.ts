// Copyright 2026 the @proc/group authors. MIT license.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { toText } from "@std/streams/to-text";
import { PtyWaitError, spawnPty, type SpawnPtyOptions } from "../pty.ts";
import { listGroup } from "../process_group.ts";
import { NEEDS_FFI, usage } from "./_pty_util.ts";
import {
  assertNoneAlive,
  forEachOf,
  textOf,
  uniqueSleep,
  watchLeaks,
} from "./_util.ts";

watchLeaks();

/** All output of a shell script on a terminal that does not change newlines. */
async function outputOf(
  script: string,
  options: SpawnPtyOptions = {},
): Promise<string> {
  await using pty = spawnPty("sh", ["-c", `stty -opost; ${script}`], options);
  const text: string = await toText(pty.readable);
  await pty.status;
  return text;
}

Deno.test(
  "spawnPty() loses nothing of 20 KB that are printed at the end",
  NEEDS_FFI,
  async () => {
    await forEachOf(Array.from({ length: 100 }), 4, async () => {
      const text = await outputOf("head -c 20000 /dev/zero | tr '\\0' x");
      assertEquals(text.length, 20_000);
    });
  },
);

Deno.test("Pty.readable ends without an error", NEEDS_FFI, async () => {
  await using pty = spawnPty("bash", ["-c", "exit"]);
  const reader = pty.readable.getReader();
  assertEquals(await reader.read(), { done: true, value: undefined });
  assertEquals(await pty.status, { success: true, code: 0, signal: null });
});

Deno.test(
  "Pty.readable fills a buffer of the caller's",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("printf", ["abc"]);
    const reader = pty.readable.getReader({ mode: "byob" });
    const { value } = await reader.read(new Uint8Array(2));
    assertEquals(new TextDecoder().decode(value), "ab");
    const rest = await reader.read(new Uint8Array(2));
    assertEquals(new TextDecoder().decode(rest.value), "c");
    assert((await reader.read(new Uint8Array(2))).done);
  },
);

Deno.test(
  "spawnPty() sets the size before the program starts",
  NEEDS_FFI,
  async () => {
    const size = await outputOf("stty size", { columns: 132, rows: 43 });
    assertEquals(size, "43 132\n");
    assertEquals(await outputOf("stty size"), "24 80\n");
  },
);

Deno.test("Pty stops the jobs of an interactive shell", NEEDS_FFI, async () => {
  const [job, nohup] = [uniqueSleep(), uniqueSleep()];
  const directory = await Deno.makeTempDir();
  {
    await using pty = spawnPty("bash", ["--norc", "-i"], {
      cwd: directory, // of nohup.out
      env: { PS1: "$ " },
    });
    await pty.waitFor("$ ", 10_000);
    await pty.write(`sleep ${job} &\n`);
    await pty.waitFor(/\[1\] \d+/, 10_000);
    await pty.write(`nohup sleep ${nohup} & echo st''arted\n`);
    await pty.waitFor("started", 10_000);
    const members = await listGroup(pty);
    assert(members.length >= 3, JSON.stringify(members));
  }
  await assertNoneAlive(job, nohup);
  await Deno.remove(directory, { recursive: true });
});

Deno.test(
  "Pty.readable ends after the program, whoever holds the terminal",
  NEEDS_FFI,
  async () => {
    const unique = uniqueSleep();
    {
      // The shell waits for the line, so that its end comes after the trap.
      await using pty = spawnPty("bash", [
        "-c",
        `(trap '' HUP; echo begun; exec sleep ${unique}) & read -r; echo early`,
      ]);
      await pty.waitFor("begun", 10_000);
      await pty.write("\n");
      const text: string = await toText(pty.readable);
      assert(text.includes("early"), text);
      assert((await pty.status).success);
    }
    await assertNoneAlive(unique);
  },
);

Deno.test(
  "Pty.readable has what comes in the time to drain",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("bash", [
      "-c",
      "(trap '' HUP; echo begun; sleep .2; echo late) & sleep .05; echo early",
    ], { drainMs: 10_000 });
    const text: string = await toText(pty.readable);
    assert(text.includes("early") && text.includes("late"), text);
  },
);

Deno.test(
  "Pty.readable goes on when the program closes the terminal for a while",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("sh", [
      "-c",
      "echo one; exec >/dev/null 2>&1 </dev/null; sleep 1; echo late >/dev/tty",
    ]);
    await pty.waitFor("one", 10_000);
    const before = await usage();
    await pty.waitFor("late", 10_000);
    const used = (await usage()).cpuMs - before.cpuMs;
    assert(used < 500, `${used} ms of CPU time in a second of waiting`);
  },
);

Deno.test(
  "Pty.waitNoEcho() waits for a password prompt",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("bash", [
      "-c",
      "sleep .1; read -rsp 'Password: ' secret; echo; echo length ${#secret}",
    ]);
    await pty.waitNoEcho(10_000);
    await pty.write("s3cret-word\n");
    const { before } = await pty.waitFor([], 10_000, { allowEnd: true });
    assert(before.includes("length 11"), before);
    assert(!before.includes("s3cret-word"), before);
  },
);

Deno.test(
  "Pty.waitNoEcho() takes no shell's prompt for a password prompt",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("bash", ["--norc", "-i"]);
    // It hides what is typed, and shows it by itself.
    await pty.waitNoEcho(10_000, { raw: true });
    await assertRejects(() => pty.waitNoEcho(50), PtyWaitError);
    await pty.write("read -rs secret; echo length ${#secret}\n");
    await pty.waitNoEcho(10_000);
    await pty.write("s3cret-word\n");
    const { before } = await pty.waitFor("length 11", 10_000);
    assert(!before.includes("s3cret-word"), before);
  },
);

Deno.test(
  "Pty.waitFor() tells an answer from the echo of the input",
  NEEDS_FFI,
  async () => {
    await using cat = spawnPty("cat");
    await cat.write("echo DONE\n");
    // The first is what was typed, the second what the program printed.
    assertEquals((await cat.waitFor("DONE", 10_000)).before, "echo ");
    assertEquals((await cat.waitFor("DONE", 10_000)).before, "\r\necho ");

    await using silent = spawnPty("cat", { echo: false });
    await silent.write("echo DONE\n");
    await silent.waitFor("DONE", 10_000);
    await assertRejects(() => silent.waitFor("DONE", 50));

    await using shell = spawnPty("sh", { env: { PS1: "$ " } });
    await shell.waitFor("$ ", 10_000);
    await shell.write("echo DO''NE\n");
    const { before } = await shell.waitFor("DONE", 10_000);
    assertEquals(before, "echo DO''NE\r\n");
  },
);

Deno.test("Pty.write() interrupts a program by Ctrl-C", NEEDS_FFI, async () => {
  const unique = uniqueSleep();
  await using pty = spawnPty("bash", ["--norc", "-i"], { env: { PS1: "$ " } });
  await pty.waitFor("$ ", 10_000);
  await pty.write(`echo run''s; sleep ${unique}\n`);
  await pty.waitFor("runs", 10_000);
  // The shell gives the terminal to the job a moment after it has echoed.
  await pty.waitFor("\n", 10_000);
  await untilForeground(pty.pid, "sleep");
  await pty.write("\x03");
  await pty.waitFor("$ ", 10_000);
  await pty.write("echo status=$?\n");
  assertEquals((await pty.waitFor(/status=(\d+)/, 10_000)).captures, ["130"]);
  await assertNoneAlive(unique);
});

/** Waits until a process of that name is in the terminal's foreground group. */
async function untilForeground(sid: number, name: string): Promise<void> {
  for (let round = 0; round < 500; round++) {
    const lines = await textOf("ps", "-o", "stat=,comm=", "-s", String(sid));
    const wanted = new RegExp(`^\\S*\\+\\S* +${name}$`, "m");
    if (wanted.test(lines)) return;
  }
  throw new Error(`No ${name} in the foreground`);
}

Deno.test(
  "Pty.write() rejects a line that the terminal would cut",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("sh", ["-c", "wc -c"], { echo: false });
    await assertRejects(
      () => pty.write("x".repeat(4096) + "\n"),
      RangeError,
      "4095",
    );
    await pty.write("x".repeat(4095) + "\n");
    // A line may come in several writes.
    await pty.write("y".repeat(4000));
    await assertRejects(() => pty.write("y".repeat(96) + "\n"), RangeError);
    await pty.write("y".repeat(95) + "\n");
    await pty.sendEof();
    assertEquals((await pty.waitFor(/\d+/, 10_000)).text, String(2 * 4096));
  },
);

Deno.test("Pty.write() splits a long line on request", NEEDS_FFI, async () => {
  await using pty = spawnPty("sh", ["-c", "echo ready; exec sha256sum"], {
    echo: false,
    longLines: "split",
  });
  await pty.waitFor("ready", 10_000);
  const line = "0123456789".repeat(5000) + "\n";
  await pty.write(line);
  await pty.sendEof();
  const bytes = new TextEncoder().encode(line);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  await pty.waitFor(hash.toHex(), 10_000);
});

Deno.test(
  "Pty.sendEof() ends the input, also in the middle of a line",
  NEEDS_FFI,
  async () => {
    for (const input of ["", "abc", "abc\n"]) {
      await using pty = spawnPty("sh", ["-c", "cat; echo end"], {
        echo: false,
      });
      await pty.write(input);
      await pty.sendEof();
      const { before } = await pty.waitFor("end\r\n", 10_000);
      assertEquals(before, input.replace("\n", "\r\n"));
    }
  },
);

Deno.test("Pty.sendEof() rejects in raw mode", NEEDS_FFI, async () => {
  await using pty = spawnPty("sh", ["-c", "stty raw; echo ready; exec cat"]);
  await pty.waitFor("ready", 10_000);
  await assertRejects(() => pty.sendEof(), TypeError, "raw mode");
});
