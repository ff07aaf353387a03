// Copyright 2026 the @proc/group authors. MIT license.

// Gives the numbers of groups that have ended to strangers, and then signals,
// stops and lists the groups: in a PID namespace of its own, as root.
// Then the other way round: gives the numbers of strangers to groups.
// Arguments: the number of rounds. Prints how many strangers were hit, and how
// many groups were overlooked.

import { killGroup, listGroup, spawnGroup, stopGroup } from "../../mod.ts";

const [rounds = "1", inside] = Deno.args;
const pidMax = 400;

if (inside) {
  // Numbers are given out in a circle, so each comes by again soon.
  Deno.writeTextFileSync("/proc/sys/kernel/pid_max", `${pidMax}`);
  await run(Number(rounds));
  await overlook(Number(rounds));
} else {
  Deno.exit(await runInNamespace());
}

/** Runs this very program again, under a shell that reaps orphans. */
async function runInNamespace(): Promise<number> {
  const own = Deno.readTextFileSync("/proc/self/cmdline").split("\0");
  const { code } = await new Deno.Command("unshare", {
    args: [
      ...["--pid", "--fork", "--mount-proc", "--kill-child"],
      ...["sh", "-c", '"$0" "$@"; exit $?'],
      ...[Deno.execPath(), ...own.slice(1, -1), "inside"],
    ],
  }).spawn().status;
  return code;
}

async function startStranger(
  pid: number,
): Promise<Deno.ChildProcess | null> {
  for (let i = 0; i < 4 * pidMax && isFree(pid); i++) {
    // The fork after this one takes the next number, if nobody is quicker.
    Deno.writeTextFileSync("/proc/sys/kernel/ns_last_pid", `${pid - 1}`);
    const child = new Deno.Command("sleep", {
      args: ["30"],
      detached: true,
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    if (child.pid === pid) return child;
    child.kill("SIGKILL");
    await child.status;
  }
  return null;
}

/** Whether neither a process nor a thread has the number. */
function isFree(pid: number): boolean {
  try {
    Deno.statSync(`/proc/${pid}`);
    return false;
  } catch {
    return true;
  }
}

/** Waits until init has reaped a process, so that its number is free. */
async function reaped(pid: number): Promise<void> {
  for (let i = 0; i < 2000; i++) {
    if (isFree(pid)) return;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  throw new Error(`Process ${pid} is still there`);
}

async function run(rounds: number): Promise<void> {
  let [reused, hit] = [0, 0];
  for (let round = 0; round < rounds; round++) {
    const group = spawnGroup("sh", ["-c", "sleep 30 >/dev/null & echo $!"], {
      stdin: "null",
      stdout: "piped",
      graceMs: 0,
    });
    const member = Number(await group.stdout.text());
    await group.status;
    // The group lives on without its leader, and then ends unseen.
    if (!killGroup(group, "SIGCONT")) throw new Error("The group is gone");
    Deno.kill(member, "SIGKILL");
    await reaped(member);

    const stranger = await startStranger(group.pgid);
    if (stranger === null) continue;
    reused++;
    const members = await listGroup(group);
    const isReached = round % 2 === 0 && killGroup(group, "SIGKILL");
    const report = await stopGroup(group, { graceMs: 0 });
    // A stranger that was hit has ended by another signal than this one.
    stranger.kill("SIGINT");
    const { signal } = await stranger.status;
    const isHit = signal !== "SIGINT" || isReached || members.length > 0 ||
      report.escaped.length > 0;
    if (isHit) hit++;
  }
  console.log(`${reused} reused, ${hit} hit`);
}

/** Whoever has been seen with a number must not hide who has it now. */
async function overlook(rounds: number): Promise<void> {
  let [reused, overlooked] = [0, 0];
  for (let round = 0; round < rounds; round++) {
    const pid = 300 + round % 90;
    const stranger = await startStranger(pid);
    if (stranger === null) continue;
    await listGroup(pid);
    stranger.kill("SIGKILL");
    await stranger.status;
    Deno.writeTextFileSync("/proc/sys/kernel/ns_last_pid", `${pid - 1}`);
    const script = "trap '' TERM; echo ready; sleep 30";
    const group = spawnGroup("sh", ["-c", script], {
      stdin: "null",
      stdout: "piped",
      graceMs: 20,
    });
    const reader = group.stdout.getReader();
    await reader.read();
    const { forced } = await stopGroup(group);
    await reader.cancel();
    if (group.pid !== pid) continue;
    reused++;
    if (!forced) overlooked++;
  }
  console.log(`${reused} reused, ${overlooked} overlooked`);
}
