// Copyright 2026 the @proc/group authors. MIT license.

import { assert, assertEquals, assertMatch } from "@std/assert";
import { GNU_TIMEOUT, hasGnuTimeout } from "./_gnu_timeout.ts";
import { DISPOSABLE, NAMESPACE } from "./_hostile.ts";
import {
  runTimeout,
  shellQuote,
  STUBBORN,
  timeoutCommand,
} from "./_timeout_program.ts";
import {
  assertNoneAlive,
  fromRoot,
  isPortable,
  runAtOnce,
  uniqueSleep,
} from "./_util.ts";

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

Deno.test("timeout obeys signals, and passes them on", {
  timeout: 60_000,
}, async (t) => {
  await runAtOnce(t, [
    ["passes each signal on once, waits and dies of it", async () => {
      const script = fromRoot("tests/testdata/timeout_count.sh");
      const signals: Deno.Signal[] = ["SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"];
      await Promise.all(signals.map(async (signal) => {
        const name = signal.slice(3);
        const args = ["20", "sh", script, name];
        // As under `deno task`, where one Ctrl-C arrives twice.
        const onReady = (child: Deno.ChildProcess) => {
          child.kill(signal);
          child.kill(signal);
          setTimeout(() => child.kill(signal), 2);
        };
        const { end, stdout } = await runTimeout(args, { onReady });
        assertEquals([end, stdout], [signal, "ready\nsaw 1\n"]);
      }));
    }],
    [
      "exits with 143 for a shell after SIGTERM, as GNU timeout does",
      async () => {
        const a = uniqueSleep(9);
        // The command signals the program that waits for it: a little later, since
        // GNU timeout dies of it, without its command, before it knows its pid.
        const rows = [
          [`sleep 0.5; kill -TERM $PPID; exec sleep ${a}`, "143\n"],
          [`sleep 0.5; kill -INT $PPID; exec sleep ${a}`, "130\n"],
          [
            `trap "exit 7" TERM; sleep ${a} & sleep 0.5; kill -TERM $PPID; wait`,
            "7\n",
          ],
        ] as const;
        await Promise.all(rows.map(async ([inner, stdout]) => {
          const programs = [timeoutCommand(), [GNU_TIMEOUT]];
          await Promise.all(programs.map(async (program) => {
            const command = shellQuote([...program, "20", "sh", "-c", inner]);
            const script = `trap : INT; ${command}; echo $?`;
            const outcome = await runTimeout(["-c", script], {
              program: ["sh"],
            });
            assertEquals(outcome.stdout, stdout, `${program[0]}: ${inner}`);
          }));
        }));
        await assertNoneAlive(a);
      },
      !hasGnuTimeout(),
    ],
    ["stops those who ignore the signal that it passed on", async () => {
      const [a, b] = [uniqueSleep(), uniqueSleep()];
      const script = `trap '' INT; sleep ${a} >/dev/null 2>&1 & trap - INT
      echo ready; exec sleep ${b}`;
      const { end, ms } = await runTimeout(["20", "bash", "-c", script], {
        onReady: (child) => child.kill("SIGINT"),
      });
      assertEquals(end, "SIGINT");
      assert(ms < 15_000, `${ms}`);
      await assertNoneAlive(a, b);
    }],
    ["sends SIGKILL at the second signal of a kind, not before", async () => {
      let before = "";
      const { end, stderr } = await runTimeout(["-v", "20", ...STUBBORN], {
        async onReady(child) {
          child.kill("SIGINT");
          await pause(50);
          child.kill("SIGTERM");
          child.kill("SIGINT");
          await pause(1500);
          before = await Promise.race([
            child.status.then(() => "ended"),
            "runs",
          ]);
          child.kill("SIGINT");
        },
      });
      assertEquals([before, end], ["runs", "SIGKILL"]);
      assertMatch(stderr, /^.* INT .*\n.* TERM .*\n.* KILL .*\n$/);
    }],
    ["-k sends SIGKILL after a signal that it passed on", async () => {
      const args = ["-v", "-k0.5", "20", ...STUBBORN];
      const { end, stderr, ms } = await runTimeout(args, {
        onReady: (child) => child.kill("SIGTERM"),
      });
      assertEquals(end, "SIGKILL");
      assertMatch(stderr, /^.* TERM .*\n.* KILL .*\n$/);
      assert(ms < 12_000, `${ms}`);
    }],
    ["ends a command that is stopped", async () => {
      const { end, ms } = await runTimeout([
        "-k20",
        "0.5",
        "sh",
        "-c",
        "kill -STOP $$",
      ]);
      assertEquals(end, 124);
      assert(ms < 15_000, `${ms}`);
    }],
    [
      "leaves signals ignored that its caller ignores, as nohup does",
      async () => {
        const inner =
          "sleep 0.2; kill -HUP $PPID; kill -HUP $$; sleep 0.8; echo alive";
        const args = ["-k0.3", "20", "sh", "-c", inner];
        const command = shellQuote([...timeoutCommand(), ...args]);
        const program = ["sh", "-c", `trap '' HUP; exec ${command}`];
        const { end, stdout } = await runTimeout([], { program });
        assertEquals([end, stdout], [0, "alive\n"]);
      },
      isPortable,
    ],
    [
      "goes on after a ^Z from which no shell would wake it up",
      async () => {
        const script = "kill -TSTP $PPID; sleep 0.3; echo alive";
        const program = [
          ...["timeout", "-s", "KILL", "30"],
          ...NAMESPACE,
          ...["setsid", "--wait"],
          ...timeoutCommand(),
        ];
        const args = ["20", "sh", "-c", script];
        const { end, stdout } = await runTimeout(args, { program });
        assertEquals([end, stdout], [0, "alive\n"]);
      },
      DISPOSABLE.ignore || !hasGnuTimeout(),
    ],
    [
      "main() ends command and program with 125 at an error nobody caught",
      async () => {
        const [a, b] = [uniqueSleep(), uniqueSleep()];
        const script = `sleep ${a} & exec sleep ${b}`;
        const program = timeoutCommand().with(
          -1,
          fromRoot("tests/testdata/timeout_crash.ts"),
        );
        await Promise.all(["throw", "reject"].map(async (how) => {
          const args = [how, "20", "sh", "-c", script];
          const { end, stderr } = await runTimeout(args, { program });
          assertEquals(end, 125);
          assertEquals(stderr, "timeout: out of order in two lines\n");
        }));
        await assertNoneAlive(a, b);
      },
    ],
  ]);
});
