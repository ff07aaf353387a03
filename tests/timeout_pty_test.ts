// Copyright 2026 the @proc/group authors. MIT license.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { spawnPty } from "@proc/group/pty";
import { runTimeout } from "./_timeout_program.ts";
import {
  assertNoneAlive,
  fromRoot,
  isPortable,
  runAtOnce,
  skipIf,
  uniqueSleep,
} from "./_util.ts";

const OPTIONS = {
  timeout: 30_000,
  ...skipIf(isPortable, "a terminal needs FFI"),
};

/** The timeout command, for a shell. */
const TIMEOUT = `'${Deno.execPath()}' run --quiet -A --import-map='${
  fromRoot("std_from_npm.json")
}' '${fromRoot("timeout.ts")}'`;

Deno.test("timeout --pty", OPTIONS, async (t) => {
  await runAtOnce(t, [
    ["gives the command a terminal and its exit code", async () => {
      const run = await runTimeout(["--pty", "20", "sh", "-c", "tty; exit 3"]);
      assertMatch(run.stdout, /^\/dev\/pts\/\d+\r\n$/);
      assertEquals(run.end, 3);
    }],
    ["stops the whole session and keeps the output", async () => {
      const length = uniqueSleep();
      const script =
        `echo hi; sleep ${length} & setsid sleep ${length} & sleep ${length}`;
      const run = await runTimeout(["--pty", "0.5", "sh", "-c", script]);
      assertEquals([run.end, run.stdout], [124, "hi\r\n"]);
      await assertNoneAlive(length);
    }],
    ["ends by the code of GNU's for what cannot be run", async () => {
      const missing = await runTimeout(["--pty", "5", "no-such-program"]);
      const both = await runTimeout(["--pty", "-f", "5", "true"]);
      assertEquals([missing.end, both.end], [127, 125]);
    }],
    ["ends when nobody reads its output any more", async () => {
      const length = uniqueSleep();
      const script =
        `${TIMEOUT} --pty 20 sh -c 'sleep ${length} & yes' | head -1`;
      const { stdout } = await new Deno.Command("sh", {
        args: ["-c", script],
        stdin: "null",
      })
        .output();
      assertEquals(new TextDecoder().decode(stdout), "y\r\n");
      await assertNoneAlive(length);
    }],
    ["hands keys and the size over and gives the terminal back", async () => {
      await using user = spawnPty("sh", {
        columns: 101,
        rows: 33,
        echo: false,
        env: { PS1: "PROMPT " },
      });
      await user.write("before=$(stty -g)\n");
      await user.waitFor(/PROMPT PROMPT /, 20_000);
      await user.write(
        `${TIMEOUT} --pty 20 sh -c 'stty size; sleep 20; echo not''yet'\n`,
      );
      await user.waitFor("33 101", 20_000);
      await user.write("\x03");
      await user.waitFor("PROMPT", 20_000);
      await user.write(
        'echo "code $?"; [ "$before" = "$(stty -g)" ] && echo sa""me\n',
      );
      const { captures } = await user.waitFor(/code (\d+)\s+same/, 20_000);
      assertEquals(captures, ["130"]);
    }],
    ["gives the terminal back at the deadline", async () => {
      const length = uniqueSleep();
      await using user = spawnPty("sh", { echo: false, env: { PS1: "" } });
      await user.write("before=$(stty -g); echo 'rea''dy'\n");
      await user.waitFor("ready", 20_000);
      await user.write(
        `${TIMEOUT} --pty 0.5 sleep ${length}; echo "code $?"; [ "$before" = "$(stty -g)" ] && echo sa""me\n`,
      );
      const { captures } = await user.waitFor(/code (\d+)\s+same/, 20_000);
      assert(captures[0] === "124", captures[0]);
      await assertNoneAlive(length);
    }],
  ]);
});
