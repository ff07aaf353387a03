// Copyright 2026 the @proc/group authors. MIT license.

/** Real programs that use a terminal for all it can do. */

import { assert, assertEquals } from "@std/assert";
import { spawnPty } from "../pty.ts";
import { NEEDS_FFI } from "./_pty_util.ts";
import {
  assertNoneAlive,
  skipIf,
  uniqueSleep,
  until,
  watchLeaks,
} from "./_util.ts";

watchLeaks();

/** Options of a test that needs a program too. */
function needs(program: string): { timeout: number; ignore: boolean } {
  if (NEEDS_FFI.ignore) return NEEDS_FFI;
  const directories = (Deno.env.get("PATH") ?? "").split(":");
  const isMissing = !directories.some((path) => exists(`${path}/${program}`));
  return { ...NEEDS_FFI, ...skipIf(isMissing, `${program} is not installed`) };
}

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

Deno.test("spawnPty() runs bash with job control", needs("bash"), async () => {
  const unique = uniqueSleep();
  await using pty = spawnPty("bash", ["--norc", "-i"], { env: { PS1: "% " } });
  await pty.waitFor("% ", 10_000);
  await pty.write(`sleep ${unique}\n`);
  await pty.waitFor("\n", 10_000);
  // ^Z stops whoever is in the foreground, which is the shell for a moment.
  await until("the job is stopped", async () => {
    await pty.write("\x1a");
    return await pty.waitFor("Stopped", 200).then(() => true, () => false);
  });
  await pty.write("jobs\n");
  await pty.waitFor(/\[1\]\+ +Stopped +sleep/, 10_000);
  await pty.write(`fg\n`);
  await pty.waitFor(`sleep ${unique}`, 10_000);
  await until("the job is interrupted", async () => {
    await pty.write("\x03");
    return await pty.waitFor("% ", 200).then(() => true, () => false);
  });
  await pty.write("echo st=$?\n");
  await pty.waitFor("st=130", 10_000);
  await pty.write("exit 3\n");
  assertEquals((await pty.status).code, 3);
  await assertNoneAlive(unique);
});

Deno.test("spawnPty() runs vi, which writes a file", needs("vi"), async () => {
  const directory = await Deno.makeTempDir();
  const path = `${directory}/note.txt`;
  await using pty = spawnPty("vi", ["-u", "NONE", "-n", path], {
    columns: 100,
    rows: 30,
  });
  await pty.waitFor("note.txt", 10_000);
  await pty.write("ihello from the terminal\x1b:wq\r");
  assertEquals((await pty.status).code, 0);
  const text = await Deno.readTextFile(path);
  assertEquals(text, "hello from the terminal\n");
  await Deno.remove(directory, { recursive: true });
});

Deno.test(
  "spawnPty() runs less, which shows the end of a file",
  needs("less"),
  async () => {
    const path = await Deno.makeTempFile();
    const lines = Array.from({ length: 500 }, (_, i) => `line ${i} of many`);
    await Deno.writeTextFile(path, lines.join("\n"));
    await using pty = spawnPty("less", [path], { env: { LESS: "" } });
    await pty.waitFor("line 3 of many", 10_000);
    await pty.write("G");
    await pty.waitFor("line 499 of many", 10_000);
    await pty.write("q");
    assertEquals((await pty.status).code, 0);
    await Deno.remove(path);
  },
);

Deno.test(
  "spawnPty() talks to the prompt of python3",
  needs("python3"),
  async () => {
    await using pty = spawnPty("python3", ["-q"]);
    await pty.waitFor(">>> ", 20_000);
    await pty.write("print(6 * 7)\n");
    await pty.waitFor(/^42\r$/m, 10_000);
    await pty.write("exit(5)\n");
    assertEquals((await pty.status).code, 5);
  },
);

Deno.test("spawnPty() talks to the prompt of node", needs("node"), async () => {
  await using pty = spawnPty("node", ["-i"], { term: "dumb" });
  await pty.waitFor("> ", 20_000);
  await pty.write("6 * 7\n");
  await pty.waitFor(/^42\r$/m, 10_000);
  await pty.write("process.exit(6)\n");
  assertEquals((await pty.status).code, 6);
});

Deno.test(
  "spawnPty() runs top, which follows the size",
  needs("top"),
  async () => {
    await using pty = spawnPty("top", ["-d", "600"], { columns: 80, rows: 24 });
    await pty.waitFor("PID", 10_000);
    const rows = async () => {
      const { before } = await pty.waitFor(/PID.*COMMAND/s, 10_000);
      return before;
    };
    pty.resize({ columns: 120, rows: 50 });
    // A new size makes it draw all of the screen again.
    await rows();
    await pty.write("q");
    assert((await pty.status).success);
  },
);

Deno.test(
  "spawnPty() runs tmux and leaves no server behind",
  needs("tmux"),
  async () => {
    const socket = `pty-${Deno.pid}-${Date.now()}`;
    const config = await Deno.makeTempFile();
    // Keys that come quickly are pasted text otherwise, and no commands.
    await Deno.writeTextFile(config, "set -g assume-paste-time 0\n");
    {
      await using pty = spawnPty("tmux", ["-L", socket, "-f", config], {
        env: { SHELL: "/bin/sh", TMUX: "" },
        columns: 100,
        rows: 30,
      });
      await pty.waitFor(/[#$] /, 10_000);
      await pty.write("echo in''side\r");
      await pty.waitFor("inside", 10_000);
      await pty.write("\x02d");
      await pty.waitFor("[detached", 10_000);
    }
    await Deno.remove(config);
    await assertNoneAlive(socket);
  },
);
