// Copyright 2026 the @proc/group authors. MIT license.

/** Finds the groups whose marks are in the environments of processes. */

import { groupMarkPrefix, parseGroupMark } from "./marks.ts";
import type { ProcessInfo } from "./platform.ts";
import { readFile } from "./procfs_file.ts";
import { isLive, parseStat } from "./stat.ts";

/** How often, a millisecond apart, a process is looked at that loads a program. */
const MAX_LOOKS = 200;

/** `PF_KTHREAD` of <linux/sched.h>. */
const KERNEL_THREAD = 0x200000;

const decoder = new TextDecoder();

/** Notes the groups whose mark a process carries; false if it shows nothing. */
export function addMarks(
  process: ProcessInfo,
  marks: Map<number, number[]>,
): boolean {
  const environ = readFile(`/proc/${process.pid}/environ`);
  if (environ === null) return true;
  const text = decoder.decode(environ);
  if (text.includes(groupMarkPrefix)) {
    const groups = text.split("\0").map(parseGroupMark).filter((group) =>
      group !== null
    );
    if (groups.length > 0) marks.set(process.pid, groups);
  }
  return text !== "";
}

/**
 * Waits for those who have no environment because they are in the middle of an
 * exec: the old one is gone and the new one not there yet, while arguments are
 * missing as well. posix_spawn(3) returns, and so does vfork(2), before that.
 */
export async function addMarksLater(
  blank: readonly ProcessInfo[],
  marks: Map<number, number[]>,
): Promise<void> {
  let rest = blank.filter(mayLoadProgram);
  for (let i = 0; rest.length > 0 && i < MAX_LOOKS; i++) {
    // Whoever has arguments before the wait has his environment after it.
    const loaded = new Set(rest.filter(hasArguments));
    await new Promise((resolve) => setTimeout(resolve, 1));
    rest = rest.filter((process) =>
      !addMarks(process, marks) && !loaded.has(process) &&
      mayLoadProgram(process)
    );
  }
}

/** Whether a process is still the same, runs, and is no thread of the kernel. */
function mayLoadProgram({ pid, startTime }: ProcessInfo): boolean {
  const stat = readFile(`/proc/${pid}/stat`);
  if (stat === null) return false;
  const text = decoder.decode(stat);
  const process = parseStat(pid, text);
  if (process?.startTime !== startTime || !isLive(process)) return false;
  const flags = text.slice(text.lastIndexOf(")") + 2).split(" ", 7)[6];
  return (Number(flags) & KERNEL_THREAD) === 0;
}

/** Linux gives every program one argument at least, be it empty. */
function hasArguments({ pid }: ProcessInfo): boolean {
  return readFile(`/proc/${pid}/cmdline`)?.length !== 0;
}
