// Copyright 2026 the @proc/group authors. MIT license.

import {
  assert,
  assertEquals,
  assertMatch,
  assertStringIncludes,
} from "@std/assert";
import { GNU_TIMEOUT, hasGnuTimeout } from "./_gnu_timeout.ts";
import { DISPOSABLE, NAMESPACE } from "./_hostile.ts";
import {
  type Outcome,
  runTimeout,
  shellQuote,
  STUBBORN,
  timeoutCommand,
} from "./_timeout_program.ts";
import {
  alive,
  assertNoneAlive,
  type Case,
  forEachOf,
  fromRoot,
  isPortable,
  runAtOnce,
  uniqueSleep,
} from "./_util.ts";

const SHELLS = ["dash", "bash"];

/** Runs the same in all shells at once. */
async function inEachShell(
  run: (shell: string) => Promise<void>,
): Promise<void> {
  await Promise.all(SHELLS.map(run));
}

/** Grandchildren hold the pipe. */
async function checkHeldPipe(shell: string): Promise<void> {
  const [a, b] = [uniqueSleep(), uniqueSleep()];
  const script = `echo hi; sleep ${a} & sleep ${b}`;
  const { end, stdout, ms } = await runTimeout(["1", shell, "-c", script]);
  assertEquals([end, stdout], [124, "hi\n"]);
  assert(ms >= 1000 && ms < 20_000, `${ms}`);
  await assertNoneAlive(a, b);
}

/** The leader obeys SIGTERM, another member does not. */
async function checkStubbornMember(shell: string): Promise<void> {
  const [a, b] = [uniqueSleep(), uniqueSleep()];
  const script = `(trap '' TERM; exec sleep ${a} >/dev/null 2>&1 </dev/null) &
    exec sleep ${b}`;
  const args = ["-v", "-k0.5", "1", shell, "-c", script];
  const { end, stderr, ms } = await runTimeout(args);
  assertEquals(end, 124);
  assertMatch(stderr, /signal TERM to .*\n.*signal KILL to /);
  assert(ms >= 1500 && ms < 20_000, `${ms}`);
  await assertNoneAlive(a, b);
}

/** An orphan is in the group. */
async function checkOrphan(shell: string): Promise<void> {
  const [a, b] = [uniqueSleep(), uniqueSleep()];
  const script = `(sleep ${a} >/dev/null 2>&1 </dev/null &); exec sleep ${b}`;
  const { end } = await runTimeout(["1", shell, "-c", script]);
  assertEquals(end, 124);
  await assertNoneAlive(a, b);
}

/** What holds for any shell. */
const TREES = {
  "the pipe is held": checkHeldPipe,
  "a member ignores SIGTERM": checkStubbornMember,
  "an orphan is in the group": checkOrphan,
};

Deno.test({
  name: "timeout ends at the limit what it is to end (S1, S2, S4, S6)",
  timeout: 60_000,
  async fn(t) {
    const trees = SHELLS.flatMap((shell) =>
      Object.entries(TREES).map((
        [name, check],
      ): Case => [
        `all of the tree where ${name} (${shell})`,
        () => check(shell),
      ])
    );
    await runAtOnce(t, [
      ...trees,
      [
        "what the command left, and names it with -v (S6)",
        () =>
          inEachShell(async (shell) => {
            const a = uniqueSleep();
            const command = [shell, "-c", `sleep ${a} & echo out; exit 3`];
            const quiet = await runTimeout(["20", ...command]);
            assertEquals([quiet.end, quiet.stdout, quiet.stderr], [
              3,
              "out\n",
              "",
            ]);
            const loud = await runTimeout(["-v", "20", ...command]);
            assertEquals([loud.end, loud.stdout], [3, "out\n"]);
            assertMatch(loud.stderr, /^timeout: stopped .*: \d+ .sleep.\n$/);
            assert(quiet.ms < 10_000 && loud.ms < 10_000);
            await assertNoneAlive(a);
          }),
      ],
      ["--keep-leftovers: all but what a command in time left", async () => {
        const [a, b] = [uniqueSleep(20), uniqueSleep()];
        const kept = `sleep ${a} >/dev/null 2>&1 </dev/null & exit 3`;
        const late = `(trap '' TERM; exec sleep ${b} >/dev/null 2>&1) & wait`;
        const [inTime, tooLate] = await Promise.all([
          runTimeout(["--keep-leftovers", "20", "sh", "-c", kept]),
          runTimeout(["--keep-leftovers", "-k0.5", "0.5", "sh", "-c", late]),
        ]);
        const pids = await alive(a);
        for (const pid of pids) Deno.kill(pid, "SIGKILL");
        assertEquals([inTime.end, pids.length], [3, 1]);
        assertEquals(tooLate.end, 124);
        await assertNoneAlive(b);
      }],
      ["--foreground: the command alone, in its session", async () => {
        const a = uniqueSleep(20);
        const script =
          `sleep ${a} >/dev/null 2>&1 & echo $(ps -o sid= -p $$,$PPID)
      exec sleep 20`;
        const [front, own] = await Promise.all([
          runTimeout(["-f", "1", "sh", "-c", script]),
          runTimeout(["1", "sh", "-c", script.replace(a, "20")]),
        ]);
        const pids = await alive(a);
        for (const pid of pids) Deno.kill(pid, "SIGKILL");
        assertEquals([front.end, own.end, pids.length], [124, 124, 1]);
        const sessions = ({ stdout }: Outcome) =>
          new Set(stdout.trim().split(" ")).size;
        assertEquals([sessions(front), sessions(own)], [1, 2]);
      }],
    ]);
  },
});

/** Command lines that GNU timeout understands too, and how both end. */
const LIKE_GNU: [string[], Outcome["end"]][] = [
  [["-v", "-k0.3", "1", ...STUBBORN], 137],
  [["--foreground", "-v", "-k0.3", "1", ...STUBBORN], 137],
  [["--preserve", "1", "sh", "-c", "trap 'exit 9' TERM; sleep 20 & wait"], 9],
  [["5", "true"], 0],
  [["5", "sh", "-c", "exit 7"], 7],
  [["5", "sh", "-c", "exit 124"], 124],
  [["5", "sh", "-c", "exit 143"], 143],
  [["30d", "true"], 0],
  [["30d", "sleep", "0.3"], 0],
  [["0", "sleep", "0.3"], 0],
  [["-v", "0.3", "sleep", "20"], 124],
  [["-v", "-sINT", "0.3", "sleep", "20"], 124],
  [["-v", "-s", "iot", "0.3", "sleep", "20"], 124],
  [["-v", "-s", "KILL", "0.3", "sleep", "20"], 137],
  [["--preserve", "0.3", "sleep", "20"], 143],
  [["--preserve", "-sKILL", "0.3", "sleep", "20"], 137],
  [["--foreground", "0.3", "sleep", "20"], 124],
  [["--foreground", "5", "sh", "-c", "exit 7"], 7],
  [["--foreground", "5", "sh", "-c", "kill -TERM $$"], "SIGTERM"],
  [["5", "sh", "-c", "kill -INT $$"], "SIGINT"],
  [["5", "sh", "-c", "kill -TERM $$"], "SIGTERM"],
  [["5", "sh", "-c", "kill -HUP $$"], "SIGHUP"],
  [["5", "sh", "-c", "kill -QUIT $$"], "SIGQUIT"],
  [["5", "sh", "-c", "kill -KILL $$"], "SIGKILL"],
  [["5", "sh", "-c", "kill -USR1 $$"], "SIGUSR1"],
  [["5", "sh", "-c", "kill -SEGV $$"], "SIGSEGV"],
  [["5", "sh", "-c", "kill -ABRT $$"], "SIGABRT"],
  [["5", "printf", "<%s>", "", "a\nb", "--", "-v", "--help"], 0],
  [["-vk1", "-sINT", "5s", "grep", "--", "-x", fromRoot("timeout.ts")], 1],
];

async function compareWithGnu(
  [args, end]: (typeof LIKE_GNU)[number],
): Promise<void> {
  const [ours, gnu] = await Promise.all([
    runTimeout(args),
    runTimeout(args, { program: [GNU_TIMEOUT] }),
  ]);
  // With -s KILL GNU timeout dies of its own signal; a shell sees 137 then.
  const seen = ({ code, stdout, stderr }: Outcome) => [code, stdout, stderr];
  assertEquals(seen(ours), seen(gnu), shellQuote(args));
  assertEquals(ours.end, end, shellQuote(args));
}

/** Command lines that fail at once, how both end, and what ours says. */
const BAD: [string[], number, string][] = [
  [[], 125, "DURATION is missing"],
  [["5"], 125, "COMMAND is missing"],
  [["1x", "true"], 125, "1x"],
  [["", "true"], 125, "duration"],
  [["--", "-1", "true"], 125, "-1"],
  [["NaN", "true"], 125, "NaN"],
  [["-k", "1x", "5", "true"], 125, "1x"],
  [["-s", "FOO", "5", "true"], 125, "FOO"],
  [["--frob", "5", "true"], 125, "--frob"],
  [["-z", "5", "true"], 125, "-z"],
  [["5", "no-such-program"], 127, "no-such-program"],
  [["5", "./no/such"], 127, "./no/such"],
  [["5", ""], 127, "no such file"],
  [["5", "/"], 126, "permission denied"],
  // In every directory of PATH, and nowhere executable.
  [["5", "."], 126, "permission denied"],
  [["5", fromRoot("deno.json")], 126, "permission denied"],
  [["5", fromRoot("deno.json/x")], 126, "deno.json/x"],
  [["-f", "5", "no-such-program"], 127, "no-such-program"],
  [["-f", "5", "/"], 126, "permission denied"],
];

async function rejectAsGnu(
  [args, end, part]: (typeof BAD)[number],
): Promise<void> {
  const long = args.map((arg) => arg === "-f" ? "--foreground" : arg);
  const [ours, gnu] = await Promise.all([
    runTimeout(args),
    runTimeout(long, { program: [GNU_TIMEOUT] }),
  ]);
  assertEquals(gnu.end, end, `GNU timeout ${shellQuote(args)}`);
  assertEquals([ours.end, ours.stdout], [end, ""], shellQuote(args));
  assertMatch(ours.stderr, /^timeout: [^\n]+\n$/);
  assertStringIncludes(ours.stderr, part);
}

Deno.test({
  name: "timeout does as GNU timeout does, and says the same with -v",
  ignore: !hasGnuTimeout(),
  timeout: 60_000,
  async fn(t) {
    // A few at once: the machine may be small.
    await runAtOnce(t, [
      [
        "whatever becomes of the command",
        () => forEachOf(LIKE_GNU, 8, compareWithGnu),
      ],
      [
        "with bad input, which it rejects in one line",
        () => forEachOf(BAD, 4, rejectAsGnu),
      ],
    ]);
  },
});

Deno.test("timeout says what is wrong, and tells it by its status", {
  timeout: 60_000,
}, async (t) => {
  await runAtOnce(t, [
    ["dies of SIGPIPE, which the runtime ignores, at once", async () => {
      const { end } = await runTimeout(["5", "sh", "-c", "kill -PIPE $$"]);
      assertEquals(end, isPortable ? 141 : "SIGPIPE");
    }],
    ["has the code of a real-time signal", async () => {
      for (const foreground of [[], ["-f"]]) {
        const args = [...foreground, "5", "bash", "-c", "kill -34 $$"];
        assertEquals((await runTimeout(args)).end, 162);
      }
    }],
    [
      "has the code of a signal as the first process of a namespace",
      async () => {
        const program = [...NAMESPACE.slice(0, 5), ...timeoutCommand()];
        for (const [signal, code] of [["TERM", 143], ["USR1", 138]] as const) {
          const args = ["5", "sh", "-c", `kill -${signal} $$`];
          assertEquals((await runTimeout(args, { program })).end, code);
        }
      },
      DISPOSABLE.ignore,
    ],
    ["refuses an argument that is not UTF-8", async () => {
      const command = shellQuote([...timeoutCommand(), "5", "printf", "%s"]);
      const script = (bytes: string) => `${command} "$(printf '${bytes}')"`;
      const run = async (bytes: string) =>
        await runTimeout(["-c", script(bytes)], { program: ["sh"] });
      const refused = await run("f\\377");
      assertEquals([refused.end, refused.stdout], [125, ""]);
      assertStringIncludes(refused.stderr, "UTF-8");
      const replacement = await run("f\\357\\277\\275");
      assertEquals([replacement.end, replacement.stdout], [0, "f\ufffd"]);
    }],
    ["--help and --version print to stdout", async () => {
      const [help, version] = await Promise.all([
        runTimeout(["--help"]),
        runTimeout(["--version"]),
      ]);
      assertEquals([help.end, help.stderr], [0, ""]);
      assertStringIncludes(help.stdout, "Usage: timeout [OPTION]");
      assertEquals([version.end, version.stderr], [0, ""]);
      const { default: manifest } = await import("../deno.json", {
        with: { type: "json" },
      });
      assertEquals(
        version.stdout,
        `timeout (@proc/group) ${manifest.version}\n`,
      );
    }],
    ["uses the quotation marks of the locale", async () => {
      const quoted = async (env: Record<string, string>) => {
        const { stderr } = await runTimeout(["5", "no such"], { env });
        return stderr;
      };
      const unset = { LC_ALL: "", LC_CTYPE: "", LANG: "" };
      const [unicode, ascii] = await Promise.all([
        quoted({ ...unset, LANG: "C.UTF-8" }),
        quoted({ ...unset, LC_ALL: "C" }),
      ]);
      assertStringIncludes(unicode, "‘no such’");
      assertStringIncludes(ascii, "'no such'");
    }],
    ["does its work though nobody reads what it says", async () => {
      const a = uniqueSleep();
      const program = shellQuote(timeoutCommand());
      const run = async (script: string) =>
        (await runTimeout([], { program: ["sh", "-c", script] })).end;
      const ends = await Promise.all([
        run(`${program} -v 0.3 sleep ${a} 2>&-`),
        run(`${program} -v 0.3 sleep ${a} 2>/dev/full`),
        run(
          `exec 3>&1; { ${program} -v 0.3 sleep ${a} 2>&1 >&3; exit $?; } | :`,
        ),
        run(`${program} --help >/dev/full`),
        run(`${program} --foo 2>/dev/full`),
      ]);
      assertEquals(ends, [124, 124, 0, 125, 125]);
      await assertNoneAlive(a);
    }],
    ["tells what is missing from what is refused in PATH", async () => {
      const directory = await Deno.makeTempDir();
      const env = { PATH: `${directory}:${Deno.env.get("PATH")}` };
      const write = (name: string, text: string, mode: number) =>
        Deno.writeTextFile(`${directory}/${name}`, text, { mode });
      await write("proc-locked", "#!/bin/sh\n", 0o644);
      await write("proc-lost", "#!/nope/interpreter\n", 0o755);
      await Deno.mkdir(`${directory}/proc-folder`);
      await Deno.symlink("nowhere", `${directory}/proc-dangling`);
      const names = ["locked", "folder", "lost", "dangling", "none"];
      const run = async (program?: string[]) =>
        await Promise.all(names.map(async (name) => {
          const options = program ? { env, program } : { env };
          return (await runTimeout(["5", `proc-${name}`], options)).end;
        }));
      assertEquals(await run(), [126, 126, 127, 127, 127]);
      if (hasGnuTimeout()) assertEquals(await run([GNU_TIMEOUT]), await run());
      await Deno.remove(directory, { recursive: true });
    }],
    ["needs the run permission, says so and fails with 125", async () => {
      const a = uniqueSleep(5);
      const scoped = ["--allow-run=sleep"];
      const rows: [string[], string[], Outcome["end"]][] = [
        [[], [], 125],
        [[], ["-f"], 125],
        [["--allow-read", "--allow-env"], [], 125],
        [scoped, [], 125],
        [["--allow-run=sh"], ["-f"], 125],
        [scoped, ["-f"], 124],
        [["--allow-run"], [], 124],
      ];
      await Promise.all(rows.map(async ([flags, options, end]) => {
        const program = timeoutCommand(flags);
        const args = [...options, "0.3", "sleep", a];
        const outcome = await runTimeout(args, { program });
        assertEquals(outcome.end, end, `${flags} ${options}`);
        if (end !== 125) return;
        assertMatch(outcome.stderr, /^timeout: [^\n]*--allow-run[^\n]*\n$/);
      }));
      await assertNoneAlive(a);
    }],
  ]);
});
