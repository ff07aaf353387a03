// Copyright 2026 the @proc/group authors. MIT license.

/**
 * Finding processes without FFI. Deno itself may read /proc only with all
 * permissions, but a child may: one `sh` runs `grep` over all of it.
 */

import { groupMarkPattern, groupMarkPrefix, parseGroupMark } from "./marks.ts";
import type { ProcessInfo, ScanQuery, Snapshot } from "./platform.ts";
import { FAILED, NOTHING } from "./shared_scan.ts";
import { parseStat } from "./stat.ts";

/** Stands alone on a line, which no line of grep's does. */
const SEPARATOR = "=";

/** Exit status of the script where procfs is missing or not this namespace's. */
const NO_PROCFS = 3;

/**
 * `grep -H` starts every line with the path, so that a hostile command name
 * cannot pass as another process. The marks are matched as whole entries.
 *
 * The numbers in a procfs of another PID namespace are other processes'. What
 * `grep` returns says nothing (processes vanish between glob and read), unless
 * it was killed and what it gave is not all.
 */
const SCRIPT = `read -r pid rest </proc/self/stat
[ "$pid" = "$$" ] || exit ${NO_PROCFS}
look() {
  grep "$@"
  case $? in 0 | 1 | 2 | 126 | 127) ;; *) exit 4 ;; esac
}
look -Has '' /proc/[0-9]*/stat
[ -z "$1" ] || { echo; echo '${SEPARATOR}'; look -Hozxas -E "$1" /proc/[0-9]*/environ; }
:`;

/**
 * Number of no group: the scanning shell carries this mark, so that finding it
 * proves that this machine's grep can find marks.
 */
const PROBE_GROUP = 0;

/** One scan: procfs where there is one, else `ps`, else nothing is known. */
export async function scanThroughChildren(
  query: ScanQuery,
): Promise<Snapshot> {
  return await scanProcfs(query) ?? await scanPs() ?? NOTHING;
}

/**
 * The process group of this process. A synchronous run of a child, at the
 * first use of a bare number only; 0 where no program can tell.
 */
export function readOwnGroup(): number {
  try {
    const { stdout } = new Deno.Command("grep", {
      args: ["-as", "", `/proc/${Deno.pid}/stat`],
      cwd: "/",
      stdin: "null",
      stderr: "null",
    }).outputSync();
    const own = parseStat(Deno.pid, new TextDecoder().decode(stdout));
    if (own) return own.pgid;
    const ps = new Deno.Command("ps", {
      args: ["-o", "pgid=", "-p", `${Deno.pid}`],
      cwd: "/",
      stdin: "null",
      stderr: "null",
    }).outputSync();
    return Number(new TextDecoder().decode(ps.stdout).trim()) || 0;
  } catch {
    // Neither program is there: the caller goes without this check.
    return 0;
  }
}

async function scanProcfs(query: ScanQuery): Promise<Snapshot | null> {
  if (Deno.build.os !== "linux") return null;
  const result = await run("sh", [
    "-c",
    SCRIPT,
    "sh",
    query.marks ? groupMarkPattern : "",
  ]);
  if (result === null) return null;
  const { code, text } = result;
  // Where there is no procfs, `ps` has nothing to go by either.
  if (code === NO_PROCFS) return NOTHING;
  // The shell could not start grep, or one of them was killed.
  if (code !== 0) return FAILED;
  const [stats = "", environs = ""] = text.split(`\n${SEPARATOR}\n`);
  const processes = parseStatLines(stats);
  // Procfs that does not show this process itself is none to rely on.
  if (!processes.some(({ pid }) => pid === Deno.pid)) return null;
  const { marks, works } = parseMarks(environs);
  return {
    processes,
    marks,
    members: "procfs",
    escapees: query.marks && works ? "environ" : "none",
  };
}

/** Joins the lines of one file, since a command name may hold newlines. */
export function parseStatLines(text: string): ProcessInfo[] {
  const files = new Map<number, string[]>();
  for (const line of text.split("\n")) {
    const match = /^\/proc\/(\d+)\/stat:/.exec(line);
    if (!match) continue;
    const pid = Number(match[1]);
    const lines = files.get(pid);
    const rest = line.slice(match[0].length);
    if (lines) lines.push(rest);
    else files.set(pid, [rest]);
  }
  return [...files].flatMap(([pid, lines]) =>
    parseStat(pid, lines.join("\n")) ?? []
  );
}

/** Groups by pid, and whether the mark that must be there was found. */
export function parseMarks(
  text: string,
): { marks: Map<number, number[]>; works: boolean } {
  const marks = new Map<number, number[]>();
  let works = false;
  for (const entry of text.split("\0")) {
    const match = /^\/proc\/(\d+)\/environ:/.exec(entry);
    const group = match && parseGroupMark(entry.slice(match[0].length));
    if (match === null || group === null) continue;
    if (group === PROBE_GROUP) {
      works = true;
      continue;
    }
    const pid = Number(match[1]);
    marks.set(pid, [...marks.get(pid) ?? [], group]);
  }
  return { marks, works };
}

/** Where there is no procfs: macOS, whose `ps` has no session ids. */
async function scanPs(): Promise<Snapshot | null> {
  const result = await run("ps", [
    "-A",
    "-o",
    "pid=",
    "-o",
    "ppid=",
    "-o",
    "pgid=",
    "-o",
    "stat=",
    "-o",
    "comm=",
  ]);
  const processes = (result?.text ?? "").split("\n").flatMap(
    parsePsLine,
  );
  if (!processes.some(({ pid }) => pid === Deno.pid)) return null;
  return { processes, marks: new Map(), members: "ps", escapees: "none" };
}

function parsePsLine(line: string): ProcessInfo | [] {
  const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+([A-Za-z]\S*)\s+(.*)$/.exec(
    line,
  );
  if (!match) return [];
  const [, pid, ppid, pgid, flags, command] = match;
  // Its first thread has ended, and others have not.
  const isRunning = flags!.startsWith("Z") && flags!.includes("l");
  return {
    pid: Number(pid),
    ppid: Number(ppid),
    pgid: Number(pgid),
    sid: 0,
    state: isRunning ? "S" : flags![0]!,
    command: command!,
    startTime: 0,
  };
}

/** What a program gave, or null if there is no such program. */
async function run(
  command: string,
  args: string[],
): Promise<{ code: number; text: string } | null> {
  try {
    const { code, stdout } = await new Deno.Command(command, {
      args,
      // Where this process is may have been removed, which fails every start.
      cwd: "/",
      env: { LC_ALL: "C", [`${groupMarkPrefix}${PROBE_GROUP}`]: "1" },
      stdin: "null",
      stderr: "null",
    }).output();
    return { code, text: new TextDecoder().decode(stdout) };
  } catch (error) {
    if (
      error instanceof Deno.errors.NotFound ||
      error instanceof Deno.errors.PermissionDenied
    ) {
      return null;
    }
    throw error;
  }
}
