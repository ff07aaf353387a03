// Copyright 2026 the @proc/group authors. MIT license.

// The guard's script by itself, under each shell and with what may be missing.

import { assert, assertEquals } from "@std/assert";
import { toText } from "@std/streams/to-text";
import { guardScript } from "../_platform/guard_script.ts";
import {
  alive,
  decode,
  fromRoot,
  isAlive,
  runAtOnce,
  skipIf,
  uniqueSleep,
  until,
} from "./_util.ts";

const WAITS = {
  ...skipIf(Deno.build.os !== "linux", "there is no procfs"),
  timeout: 30_000,
};

/** Present on every system of the tests, or a test says that it is not. */
const SHELLS = [["dash"], ["bash"], ["busybox", "sh"]];

let lastMark = 0;

async function works(command: string, ...args: string[]): Promise<boolean> {
  try {
    const { success } = await new Deno.Command(command, {
      args,
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).output();
    return success;
  } catch {
    // There is no such program.
    return false;
  }
}

/** Those of the shells that are here. */
const shells: string[][] = [];
for (const [command = "", ...args] of SHELLS) {
  if (await works(command, ...args, "-c", ":")) shells.push([command, ...args]);
  else skipIf(true, `there is no ${command}`);
}

/** Makes a PID namespace that ends with the command. */
const UNSHARE = ["--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc"];

const canReuse = await works(
  "unshare",
  ...UNSHARE,
  "bash",
  "-c",
  "echo 1999 >/proc/sys/kernel/ns_last_pid && ps",
);

interface Script {
  mark: string;
  say(lines: string): Promise<void>;
  /** Ends the input and waits for the script's end. */
  end(): Promise<void>;
}

function startScript(
  [command = "", ...args]: string[],
  { grep = "grep", sleep = "sleep" } = {},
): Script {
  const mark = `PROC_GROUP_PARENT_test_${Deno.pid}_${++lastMark}`;
  const child = new Deno.Command(command, {
    args: [...args, "-c", guardScript, "guard", mark, grep, sleep],
    clearEnv: true,
    cwd: "/",
    stdin: "piped",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const writer = child.stdin.getWriter();
  return {
    mark,
    say: (lines) => writer.write(new TextEncoder().encode(lines)),
    async end() {
      await writer.close();
      assertEquals((await child.status).code, 0);
    },
  };
}

interface Tree {
  pid: number;
  /** Text that only the arguments of the tree's processes hold. */
  unique: string;
  kill(): Promise<void>;
}

/** Starts a session, whose script names its sleeps by `$0`, and waits for `count`. */
async function startTree(
  script: string,
  count: number,
  env: Record<string, string> = {},
): Promise<Tree> {
  const unique = uniqueSleep();
  const child = new Deno.Command("bash", {
    args: ["-c", script, unique],
    env,
    detached: true,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).spawn();
  const isUp = async () => {
    const texts = await alive(`sleep\0${unique}`);
    return texts.length === count;
  };
  await until(`${count} of: ${script}`, isUp);
  return {
    pid: child.pid,
    unique,
    async kill() {
      for (const pid of await alive(unique)) Deno.kill(pid, "SIGKILL");
      await child.status;
    },
  };
}

/** Each with the number of its sleeps. */
const TREES: [script: string, count: number][] = [
  ["sleep $0 & sleep $0 & sleep $0", 3],
  ["(trap '' TERM; sleep $0) & trap '' TERM; sleep $0; sleep $0", 2],
  [
    "set -m; sleep $0 & (trap '' TERM; sleep $0) & exec bash -ic 'sleep $0' $0",
    3,
  ],
  ["setsid sleep $0 & exec sleep $0", 2],
  ["env -i sleep $0 & exec env -i sleep $0", 2],
  ["env -i sleep $0 & exit", 1],
];

/** A tree whose members are named so that they look like others. */
const RENAMED = `
rename() { printf "$1" >/proc/$BASHPID/comm; sleep $0; }
rename 'x\\n1 (y) S 1 1' & rename ') S 1 1 1 1 1\\n' & rename 'a b (' & wait`;

/** Runs a case under each shell at once. */
async function underEach(
  t: Deno.TestContext,
  run: (shell: string[]) => Promise<void>,
): Promise<void> {
  await runAtOnce(
    t,
    shells.map((shell) => [`under ${shell[0]}`, () => run(shell)]),
  );
}

Deno.test("guardScript stops every kind of tree", WAITS, async (t) => {
  await underEach(t, async (shell) => {
    const script = startScript(shell);
    const env = { [script.mark]: "1" };
    const trees = await Promise.all(
      [...TREES, [RENAMED, 3] as const].map(([tree, count]) =>
        startTree(tree, count, env)
      ),
    );
    await script.say(trees.map(({ pid }) => `+ ${pid} 0\n`).join(""));
    await script.end();
    for (const tree of trees) {
      assertEquals(await alive(tree.unique), []);
      await tree.kill();
    }
  });
});

Deno.test(
  "guardScript stops whole sessions without grep and sleep",
  WAITS,
  async (t) => {
    await underEach(t, async (shell) => {
      const script = startScript(shell, { grep: "", sleep: "" });
      const [tree, renamed] = await Promise.all([
        startTree(...TREES[2]!),
        startTree(RENAMED, 3),
      ]);
      await script.say(`+ ${tree.pid} 0\n+ ${renamed.pid} 0\n`);
      await script.end();
      assertEquals(await alive(tree.unique), []);
      assertEquals(await alive(renamed.unique), []);
      await tree.kill();
      await renamed.kill();
    });
  },
);

Deno.test("guardScript keeps thousands of groups apart", WAITS, async (t) => {
  await underEach(t, async (shell) => {
    const script = startScript(shell);
    const stays = await startTree("exec sleep $0", 1);
    const ends = await startTree("exec sleep $0", 1);
    await script.say(`+ ${stays.pid} 0\n+ ${ends.pid} 0\n`);
    const numbers = Array.from({ length: 3000 }, (_, i) => 50_000_000 + i);
    await script.say(numbers.map((n) => `+ ${n} 0\n`).join(""));
    await script.say(`- ${stays.pid}\n`);
    await script.say(numbers.map((n) => `- ${n}\n`).join(""));
    await script.end();
    assertEquals(await alive(ends.unique), []);
    assertEquals(await alive(stays.unique), [stays.pid]);
    await stays.kill();
    await ends.kill();
  });
});

Deno.test(
  "guardScript spares what is younger than its announcement",
  WAITS,
  async () => {
    const script = startScript(["sh"]);
    const stranger = await startTree("sleep $0 & sleep $0", 2);
    const orphan = await startTree("sleep $0 & exit", 1);
    // As if the numbers had been announced an hour ago for others.
    await script.say(`+ ${stranger.pid} 360000\n+ ${orphan.pid} 360000\n`);
    await script.end();
    assertEquals((await alive(stranger.unique)).length, 3);
    assertEquals((await alive(orphan.unique)).length, 1);
    await stranger.kill();
    await orphan.kill();
  },
);

Deno.test(
  "guardScript takes a session without a leader for its own by one mark",
  WAITS,
  async () => {
    const script = startScript(["sh"]);
    const tree = await startTree("sleep $0 & env -i sleep $0 & exit", 2, {
      [script.mark]: "1",
    });
    await script.say(`+ ${tree.pid} 360000\n`);
    await script.end();
    assertEquals(await alive(tree.unique), []);
    await tree.kill();
  },
);

Deno.test(
  "guardScript stops what was announced to nobody, by the mark of its leader",
  WAITS,
  async () => {
    const script = startScript(["sh"]);
    const tree = await startTree(
      "env -i sleep $0 & setsid bash -c 'env -i sleep $0 & sleep $0' $0; :",
      3,
      { [script.mark]: "1" },
    );
    await script.end();
    assertEquals(await alive(tree.unique), []);
    await tree.kill();
  },
);

Deno.test("guardScript ignores a line that was cut short", WAITS, async () => {
  const script = startScript(["sh"]);
  const tree = await startTree("exec sleep $0", 1);
  await script.say(`+ ${tree.pid}`);
  await script.end();
  assertEquals(await alive(tree.unique), [tree.pid]);
  await tree.kill();
});

Deno.test(
  "guardScript does nothing once it is told to quit",
  WAITS,
  async () => {
    const script = startScript(["sh"]);
    const tree = await startTree("exec sleep $0", 1, { [script.mark]: "1" });
    await script.say(`+ ${tree.pid} 0\nq\n`);
    await script.end();
    assertEquals(await alive(tree.unique), [tree.pid]);
    await tree.kill();
  },
);

Deno.test(
  "guardScript does without a grep that cannot read marks",
  WAITS,
  async () => {
    const script = startScript(["sh"], {
      grep: fromRoot("tests/testdata/guard_old_grep.sh"),
    });
    const tree = await startTree("sleep $0 & sleep $0", 2);
    await script.say(`+ ${tree.pid} 0\n`);
    await script.end();
    assertEquals(await alive(tree.unique), []);
    await tree.kill();
  },
);

Deno.test(
  "guardScript spares the stranger who has got an announced number",
  { ...WAITS, ...skipIf(!canReuse, "it needs root, unshare(1) and ps(1)") },
  async () => {
    const { stdout } = await new Deno.Command("unshare", {
      args: [
        ...UNSHARE,
        "bash",
        fromRoot("tests/testdata/guard_reuse.sh"),
        guardScript,
      ],
      stdin: "null",
      stderr: "null",
    }).output();
    assertEquals(
      decode(stdout),
      "number is reused\nours is gone\nstranger lives\n",
    );
  },
);

Deno.test("guardScript holds no descriptor of its caller", WAITS, async () => {
  // Descriptor 7 comes down to the guard as from a caller's caller.
  const child = new Deno.Command("sh", {
    args: [
      "-c",
      'exec 7>&1 >/dev/null; echo $$ >&7; exec sh -c "$1" guard MARK "" ""',
      "sh",
      guardScript,
    ],
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const text: string = await toText(child.stdout);
  // The output has come to its end while the guard runs.
  assert(await isAlive(Number(text)));
  await child.stdin.close();
  await child.status;
});
