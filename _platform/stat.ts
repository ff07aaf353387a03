// Copyright 2026 the @proc/group authors. MIT license.

import type { ProcessInfo } from "./platform.ts";

/**
 * Parses one process's `stat` as proc_pid_stat(5) describes it, or gives null
 * for a text that was cut short or is none.
 *
 * The command name may hold spaces, newlines and parentheses, so everything is
 * counted from the last `)`; the pid is the one that the text was read for,
 * never the one in the text.
 */
export function parseStat(pid: number, text: string): ProcessInfo | null {
  const open = text.indexOf("(");
  const close = text.lastIndexOf(")");
  if (open < 0 || close < open) return null;
  // One field more than is needed, which shows that the last one is whole.
  const [state = "", ...fields] = text.slice(close + 2).split(" ", 21);
  const startTime = Number(fields[18]);
  if (
    !/^[A-Za-z]$/.test(state) || fields.length < 20 ||
    !Number.isSafeInteger(startTime)
  ) {
    return null;
  }
  // It is the state of the first thread, which may end before the others.
  const isRunning = state === "Z" && Number(fields[16]) > 1;
  return {
    pid,
    ppid: Number(fields[0]),
    pgid: Number(fields[1]),
    sid: Number(fields[2]),
    state: isRunning ? "S" : state,
    command: text.slice(open + 1, close),
    startTime,
  };
}

/** Whether a process is one that still runs, neither zombie nor dead. */
export function isLive(process: ProcessInfo): boolean {
  return process.state !== "Z" && process.state !== "X" &&
    process.state !== "x";
}
