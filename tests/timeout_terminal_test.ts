// Copyright 2026 the @proc/group authors. MIT license.

import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import {
  hasPython,
  runInTerminal,
  shellQuote,
  timeoutCommand,
} from "./_timeout_program.ts";
import { assertNoneAlive, runAtOnce, uniqueSleep } from "./_util.ts";

const program = shellQuote(timeoutCommand());

Deno.test("timeout shares the terminal with its command and its shell", {
  ignore: !hasPython(),
  timeout: 60_000,
}, async (t) => {
  await runAtOnce(t, [
    ["ends at one Ctrl-C, and a loop of the shell with it", async () => {
      await Promise.all(["bash", "dash"].map(async (shell) => {
        const a = uniqueSleep(9);
        // Quotes keep the terminal's echo from being taken for the output.
        const inner = `echo rea""dy; exec sleep ${a}`;
        const loop = `for i in 1 2; do ${program} 9 sh -c '${inner}'; done`;
        const { output, code, ms } = await runInTerminal(
          [["ready", "\x03"]],
          [shell, "-c", loop],
        );
        assertEquals([output.match(/ready/g)?.length, code], [1, -2], output);
        assert(ms < 8000, `${ms}`);
        await assertNoneAlive(a);
      }));
    }],
    ["lets the command read the terminal in the foreground", async () => {
      const inner = 'echo rea""dy; read line; echo "got $line"';
      const command = [...timeoutCommand(), "9", "sh", "-c", inner];
      const outcomes = await Promise.all([
        runInTerminal([["ready", "word\n"]], command),
        // Job control puts it into a group of its own, in the foreground.
        runInTerminal([["ready", "word\n"]], [
          "bash",
          "-mc",
          shellQuote(command),
        ]),
      ]);
      for (const { output, code } of outcomes) {
        assertStringIncludes(output, "got word");
        assertEquals(code, 0);
      }
    }],
    ["keeps the command from the terminal in the background", async () => {
      const inner = 'read line; echo "st""atus $? [$line]"';
      const job = `${program} 9 sh -c '${inner}' & wait; echo en""ded`;
      const { output, ms } = await runInTerminal([], ["bash", "-mc", job]);
      assertMatch(output, /status 1 \[\]\s+.*ended/s);
      assert(ms < 8000, `${ms}`);
    }],
    ["--foreground leaves the terminal to the command", async () => {
      const inner = `trap 'echo caug""ht; exit 5' INT; echo rea""dy
      read line </dev/tty; echo "got $line"; echo mo""re; sleep 9 & wait`;
      const command = [...timeoutCommand(), "-f", "9", "sh", "-c", inner];
      const { output, code } = await runInTerminal(
        [["ready", "word\n"], ["more", "\x03"]],
        command,
      );
      assertStringIncludes(output, "got word");
      assertStringIncludes(output, "caught");
      assertEquals(code, 5);
    }],
    [
      "is suspended by Ctrl-Z with the command, and continued by fg",
      async () => {
        const inner = 'echo rea""dy; read line; echo "got $line"';
        const { output } = await runInTerminal(
          [
            ["", `${program} 9 sh -c '${inner}'\n`],
            ["ready", "\x1a"],
            // What is typed now is the shell's, and not the command's.
            ["Stopped", 'echo she""ll; fg\n'],
            ["shell", "word\n"],
            ["got word", "exit\n"],
          ],
          ["bash", "--norc", "--noprofile", "-i"],
        );
        assertStringIncludes(output, "got word");
      },
    ],
    [
      "under deno task takes one Ctrl-C for one, and ignores Ctrl-Z",
      async () => {
        const task = `${Deno.execPath()} task --quiet timeout`;
        const cleanUp = `trap 'sleep 1; echo clea""ned; exit 5' INT
      echo rea""dy; sleep 9 & wait`;
        const reader = 'echo rea""dy; sleep 0.5; read line; echo "got $line"';
        const [interrupted, suspended] = await Promise.all([
          runInTerminal([["ready", "\x03"]], [
            "bash",
            "-c",
            `${task} 9 bash -c ${shellQuote([cleanUp])}; exit $?`,
          ]),
          runInTerminal([
            ["", `${task} 9 sh -c ${shellQuote([reader])}\n`],
            ["ready", "\x1a"],
            ["^Z", "word\n"],
            ["got word", "exit\n"],
          ], ["bash", "--norc", "--noprofile", "-i"]),
        ]);
        assertStringIncludes(interrupted.output, "cleaned");
        assertEquals(interrupted.code, 5);
        assertStringIncludes(suspended.output, "got word");
      },
    ],
  ]);
});
