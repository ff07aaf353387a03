// Copyright 2026 the @proc/group authors. MIT license.

import { assert, assertEquals, assertRejects } from "@std/assert";
import { DetachKeys } from "../_pty_detach.ts";
import { attachPty, type Pty, spawnPty } from "../pty.ts";
import { denoRun, NEEDS_FFI } from "./_pty_util.ts";
import {
  alive,
  assertNoneAlive,
  decode,
  readUntil,
  uniqueSleep,
  until,
  watchLeaks,
} from "./_util.ts";

watchLeaks();

/** A terminal's settings as `stty -g` prints them. */
const SETTINGS = /[0-9a-f]+(:[0-9a-f]+){10,}/;

/**
 * Runs the program on a terminal as a user would, and checks that the terminal
 * has its settings back afterwards and that the next line is the shell's.
 */
async function attached(
  script: string,
  use: (user: Pty) => Promise<unknown>,
  env: Record<string, string> = {},
): Promise<string> {
  const shell =
    `stty -g; "$@"; echo code $?; stty -g; read -r next; echo "next=$next"`;
  await using user = spawnPty("bash", [
    "-c",
    shell,
    "bash",
    ...denoRun("tests/testdata/pty_attach.ts", script),
  ], { env: { NO_COLOR: "1", ...env }, columns: 91, rows: 33 });
  const before = (await user.waitFor(SETTINGS, 30_000)).text;
  await use(user);
  const end = await user.waitFor(SETTINGS, 30_000);
  assertEquals(end.text, before);
  await user.write("for the shell\n");
  await user.waitFor("next=for the shell", 10_000);
  return end.before;
}

Deno.test(
  "attachPty() hands every key over and gives the terminal back",
  NEEDS_FFI,
  async () => {
    const seen = await attached(
      "while ! stty size | grep '33 91'; do sleep .05; done; read x; echo got $x; exit 7",
      async (user) => {
        await user.waitFor("33 91", 30_000);
        await user.write("hello\r");
        await user.waitFor("got hello", 10_000);
      },
    );
    assert(seen.includes("ended 7"), seen);
  },
);

Deno.test(
  "attachPty() types the end of its input at a shell's prompt",
  NEEDS_FFI,
  async () => {
    const [command = "", ...args] = denoRun(
      "tests/testdata/pty_attach.ts",
      "exec bash --norc -i",
    );
    const child = new Deno.Command(command, {
      args,
      env: { NO_COLOR: "1" },
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const writer = child.stdin.getWriter();
    // The last command runs in line mode when the input ends.
    await writer.write(new TextEncoder().encode("echo o$((1))k\nsleep 0.3\n"));
    await writer.close();
    const output = decode((await child.output()).stdout);
    assert(output.includes("o1k\r\n"), output);
    assert(output.includes("ended 0"), output);
  },
);

Deno.test(
  "attachPty() sends Ctrl-C to the program, not to this process",
  NEEDS_FFI,
  async () => {
    const unique = uniqueSleep();
    const seen = await attached(
      `echo ready; exec sleep ${unique}`,
      async (user) => {
        await user.waitFor("ready", 30_000);
        await user.write("\x03");
      },
    );
    assert(seen.includes("ended SIGINT") && seen.includes("code 0"), seen);
  },
);

Deno.test(
  "attachPty() follows the size of the terminal",
  NEEDS_FFI,
  async () => {
    await attached(
      "while ! stty size | grep '20 50'; do sleep .05; done; echo done",
      async (user) => {
        // The settings of the user's terminal change once it is attached.
        await user.waitNoEcho(30_000, { raw: true });
        user.resize({ columns: 50, rows: 20 });
        await user.waitFor("done", 20_000);
      },
    );
  },
);

Deno.test(
  "attachPty() hands signals on and gives the terminal back",
  NEEDS_FFI,
  async () => {
    const signals = ["SIGTERM", "SIGHUP", "SIGINT", "SIGQUIT"] as const;
    await Promise.all(signals.map(async (signal) => {
      const unique = uniqueSleep();
      const seen = await attached(
        `echo parent=$PPID; exec sleep ${unique}`,
        async (user) => {
          const { captures } = await user.waitFor(/parent=(\d+)\r/, 30_000);
          Deno.kill(Number(captures[0]), signal);
        },
      );
      const end = signal === "SIGTERM" ? "SIGHUP" : signal;
      assert(seen.includes(`ended ${end}`), seen);
      await assertNoneAlive(unique);
    }));
  },
);

Deno.test(
  "attachPty() gives the terminal back when this process ends in between",
  NEEDS_FFI,
  async () => {
    const ways = [["exit", 9], ["throw", 1], ["reject", 1]] as const;
    await Promise.all(ways.map(async ([after, code]) => {
      const unique = uniqueSleep();
      const seen = await attached(
        `echo ready; exec sleep ${unique}`,
        () => Promise.resolve(),
        { AFTER: after },
      );
      assert(seen.includes(`code ${code}`), seen);
      await until(
        "the guard has ended it",
        async () => (await alive(unique)).length === 0,
      );
    }));
  },
);

Deno.test("attachPty() lets the user detach", NEEDS_FFI, async () => {
  const seen = await attached(
    "stty -echo; echo ready; read -r x; echo got $x; sleep 20",
    async (user) => {
      await user.waitFor("ready", 30_000);
      await user.write("\x01\x01d");
    },
    { DETACH_KEYS: "\x01d" },
  );
  assert(seen.includes("ended null"), seen);
  assert(seen.includes("then got \x01after the detachment"), seen);
});

Deno.test(
  "attachPty() copies bytes where there is no terminal",
  NEEDS_FFI,
  async () => {
    const [command, ...args] = denoRun(
      "tests/testdata/pty_attach.ts",
      "stty -echo; cat; echo end; exit 3",
    );
    const child = new Deno.Command(command, {
      args,
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const writer = child.stdin.getWriter();
    await writer.write(new TextEncoder().encode("line\nrest"));
    await writer.close();
    const { stdout, code } = await child.output();
    assert(decode(stdout).endsWith("restend\r\nended 3\n"), decode(stdout));
    assert(decode(stdout).includes("line\r\n"));
    assertEquals(code, 0);
  },
);

Deno.test(
  "attachPty() writes all output before it resolves",
  NEEDS_FFI,
  async () => {
    const [command, ...args] = denoRun(
      "tests/testdata/pty_attach.ts",
      "stty -opost; head -c 1000000 /dev/zero",
    );
    const { stdout } = await new Deno.Command(command, {
      args,
      stdin: "null",
    }).output();
    assert(decode(stdout).endsWith("\0ended 0\n"));
    assertEquals(stdout.length, 1_000_000 + "ended 0\n".length);
  },
);

Deno.test(
  "attachPty() rejects while somebody else reads, and no Pty",
  NEEDS_FFI,
  async () => {
    await using pty = spawnPty("cat");
    const reader = pty.readable.getReader();
    await assertRejects(() => attachPty(pty), TypeError, "locked");
    reader.releaseLock();
    const reason = new Error("enough");
    const signal = AbortSignal.abort(reason);
    assertEquals(await assertRejects(() => attachPty(pty, { signal })), reason);
    await assertRejects(() => attachPty({} as Pty), TypeError);
  },
);

Deno.test("DetachKeys hands on what is no sequence", () => {
  const cases: [string, string, string][] = [
    ["q", "ab|c", "abc"],
    ["\x01d", "a\x01|bd|\x01\x01x", "a\x01bd\x01\x01x"],
    ["aab", "aaa|c", "aaac"],
    ["", "anything", "anything"],
  ];
  for (const [sequence, typed, expected] of cases) {
    const keys = new DetachKeys(sequence);
    let text = "";
    for (const part of typed.split("|")) {
      const { bytes, isComplete } = keys.push(new TextEncoder().encode(part));
      text += decode(bytes);
      assert(!isComplete);
    }
    assertEquals(text, expected);
  }
  const keys = new DetachKeys("aab");
  const { bytes, isComplete } = keys.push(new TextEncoder().encode("aaabx"));
  assertEquals([decode(bytes), isComplete], ["a", true]);
});

Deno.test(
  "attachPty() gives up although nobody reads its output",
  NEEDS_FFI,
  async () => {
    const [command, ...args] = denoRun("tests/testdata/pty_abort_attached.ts");
    const child = new Deno.Command(command, {
      args,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    try {
      await readUntil(child.stderr, "TimeoutError");
    } finally {
      child.kill("SIGKILL");
      await Promise.all([child.stdout.cancel(), child.stderr.cancel()]);
      await child.status;
    }
  },
);
