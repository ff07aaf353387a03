// Copyright 2026 the @proc/group authors. MIT license.

// A contained program on a terminal.

import { assertEquals } from "@std/assert";
import { stopGroup } from "../process_group.ts";
import { spawnPty } from "../pty.ts";
import { WAITS as CONTAINS } from "./_contain.ts";
import { NEEDS_FFI } from "./_pty_util.ts";
import {
  alive,
  assertNoneAlive,
  uniqueSleep,
  until,
  watchLeaks,
} from "./_util.ts";

const WAITS = {
  ...NEEDS_FFI,
  ignore: NEEDS_FFI.ignore || CONTAINS.ignore,
};

watchLeaks();

Deno.test(
  "spawnPty() gives a contained program its terminal",
  WAITS,
  async () => {
    await using pty = spawnPty(
      "sh",
      ["-c", "stty size; tty >/dev/tty; read line; echo got $line; exit 5"],
      { contain: true, columns: 91, rows: 17 },
    );
    await pty.waitFor("17 91", 10_000);
    await pty.waitFor("/dev/pts/", 10_000);
    await pty.write("hello\n");
    await pty.waitFor("got hello", 10_000);
    assertEquals((await pty.status).code, 5);
  },
);

Deno.test(
  "spawnPty() runs a contained shell with job control",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    await using pty = spawnPty("bash", ["--norc", "-i"], {
      contain: true,
      env: { PS1: "% " },
    });
    await pty.waitFor("% ", 10_000);
    await pty.write(`sleep ${unique} &\n`);
    await pty.waitFor(/\[1\] \d+/, 10_000);
    await pty.write("fg\n");
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
  },
);

Deno.test(
  "spawnPty() interrupts a contained program with Ctrl-C",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    await using pty = spawnPty("sh", [
      "-c",
      `echo ready; exec sleep ${unique}`,
    ], { contain: true });
    await pty.waitFor("ready", 10_000);
    await pty.write("\x03");
    assertEquals((await pty.status).code, 130);
    await assertNoneAlive(unique);
  },
);

Deno.test(
  "stopGroup() ends all of a contained shell's jobs and daemons",
  WAITS,
  async () => {
    const unique = uniqueSleep();
    await using pty = spawnPty("bash", ["--norc", "-i"], {
      contain: true,
      env: { PS1: "% " },
      graceMs: 1000,
    });
    await pty.waitFor("% ", 10_000);
    await pty.write(
      `sleep ${unique} & nohup sleep ${unique} >/dev/null 2>&1 &\n`,
    );
    await pty.write(`setsid env -i sleep ${unique} >/dev/null 2>&1 &\n`);
    await pty.write("echo u''p\n");
    await pty.waitFor("up", 10_000);
    await until("all run", async () => (await alive(unique)).length >= 3);
    const report = await stopGroup(pty);
    assertEquals([report.escaped, report.survivors], [[], []]);
    await assertNoneAlive(unique);
  },
);
