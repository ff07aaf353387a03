// Copyright 2026 the @proc/group authors. MIT license.

// Many small tests, each of which the sanitizers look at by itself: an operation
// that is still ending when a group is disposed of shows now and then.

import { spawnPty } from "../../pty.ts";
import { spawnGroup } from "../../process_group.ts";

for (let round = 0; round < 100; round++) {
  Deno.test("a terminal is read to the end", async () => {
    await using pty = spawnPty("sh", ["-c", "read a; echo $a"]);
    await pty.write("hi\n");
    await pty.waitFor([], 10_000, { allowEnd: true });
    await pty.status;
  });
  Deno.test("a program on a terminal is stopped", async () => {
    await using pty = spawnPty("cat");
    await pty.write("hi\n");
    await pty.waitFor("hi\r\nhi\r\n", 10_000);
  });
  Deno.test("two groups are stopped", async () => {
    await using one = spawnGroup("cat", { stdin: "piped", stdout: "piped" });
    await using _other = spawnGroup("sleep", ["20"]);
    const writer = one.stdin.getWriter();
    await writer.write(new TextEncoder().encode("hi\n"));
    const reader = one.stdout.getReader();
    await reader.read();
    reader.releaseLock();
    writer.releaseLock();
  });
}
