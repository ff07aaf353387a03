// Copyright 2026 the @proc/group authors. MIT license.

/** Finds programs as `Deno.Command` does, and asks for the same permission. */

import { C, SIZEOF, STATX_MODE_OFFSET } from "./constants.ts";
import { callError } from "./errno.ts";
import { cString, errno, libc } from "./libc.ts";

/** Where a program is looked for. */
export interface SearchOptions {
  /** Directory that a path is relative to; absolute. */
  readonly cwd: string;
  /** Value of `PATH`. */
  readonly path: string | undefined;
  /** What `~` means in `PATH`. */
  readonly home: string | undefined;
}

/** Where a name was found. */
interface Found {
  readonly program: string;
  /** Where another program would be found first, as C strings. */
  readonly before: readonly Uint8Array<ArrayBuffer>[];
}

/** What was found in the one value of `PATH`. */
const found = { path: "", programs: new Map<string, Found>() };

const MAX_FOUND = 64;

/**
 * Where a bare name was found when it was searched last in the same `PATH`,
 * unless another one comes first by now. It may not be there any more.
 */
export function lastFound(
  command: string,
  { path }: SearchOptions,
): string | undefined {
  const last = found.path === path ? found.programs.get(command) : undefined;
  if (last === undefined || last.before.some(mayExecute)) return undefined;
  return last.program;
}

/** A name is searched anew, since what was found cannot be started any more. */
export function forgetFound(command: string): void {
  found.programs.delete(command);
}

/**
 * Notes where a bare name was found and started. Where a relative entry of
 * `PATH` and `~` lead may be another place the next time.
 */
export function noteFound(
  command: string,
  program: string,
  { path = "" }: SearchOptions,
): void {
  if (command.includes("/")) return;
  const entries = [...new Set(path.split(":"))];
  if (!entries.every((entry) => entry.startsWith("/"))) return;
  if (found.path !== path || found.programs.size >= MAX_FOUND) {
    found.path = path;
    found.programs.clear();
  }
  const candidates = entries.map((entry) => candidate(entry, command));
  const before = candidates.slice(0, candidates.indexOf(program)).map(cString);
  found.programs.set(command, { program, before });
}

/** Longest path that getcwd(3) gives. */
const PATH_MAX = 4096;

/**
 * Path of the program that a command names, or null if a bare name is nowhere
 * in `PATH`. It is relative only where the entry in `PATH` is.
 */
export function findProgram(
  command: string,
  { cwd, path, home }: SearchOptions,
): string | null {
  if (command.includes("/")) return joinPath(cwd, command);
  if (!path || command === "") return null;
  // The kernel finds nothing else at an entry that is there twice.
  for (const entry of new Set(path.split(":"))) {
    const program = candidate(expandTilde(entry, home), command);
    if (isExecutableFile(program)) return program;
  }
  return null;
}

function candidate(directory: string, command: string): string {
  const separator = directory === "" || directory.endsWith("/") ? "" : "/";
  return directory + separator + command;
}

/** The absolute path without `.` and `..`, which are taken literally. */
export function joinPath(base: string, path: string): string {
  // Most are as they have to be.
  if (path.startsWith("/") && !/\/(?:\.|\/|$)/.test(path)) return path;
  const names: string[] = [];
  const whole = path.startsWith("/") ? path : `${base}/${path}`;
  for (const name of whole.split("/")) {
    if (name === "..") names.pop();
    else if (name !== "" && name !== ".") names.push(name);
  }
  return `/${names.join("/")}`;
}

/** This process's directory, without the permission to read it. */
export function currentDirectory(): string {
  const buffer = new Uint8Array(PATH_MAX);
  const pointer = libc().getcwd(buffer, PATH_MAX);
  if (pointer === null) throw callError("getcwd", errno());
  return new Deno.UnsafePointerView(pointer).getCString();
}

/** Type of what a path leads to, or null if there is nothing to be seen. */
export function fileType(path: string): "file" | "directory" | "other" | null {
  const buffer = new Uint8Array(SIZEOF.statx);
  const name = cString(path);
  const result = libc().statx(C.AT_FDCWD, name, 0, C.STATX_TYPE, buffer);
  if (result === -1) return null;
  const view = new DataView(buffer.buffer);
  switch (view.getUint16(STATX_MODE_OFFSET, true) & C.S_IFMT) {
    case C.S_IFREG:
      return "file";
    case C.S_IFDIR:
      return "directory";
    default:
      return "other";
  }
}

/** Whether every program may be run. */
export function mayRunAll(): boolean {
  const { state, partial } = Deno.permissions.querySync({ name: "run" });
  return state === "granted" && !partial;
}

/**
 * Asks for the permission to run a program by its own path, where not all may
 * be run: a name means another program under another `PATH`.
 *
 * @param command As the caller has named it, for the message.
 * @param program Path of the program.
 * @param environment All variables that the program would see.
 * @throws {Deno.errors.NotCapable} If it is not granted.
 */
export function requireRun(
  command: string,
  program: string,
  environment: () => Iterable<readonly [name: string, value: string]>,
): void {
  requireNoLoaderVariables(environment());
  // A relative entry of PATH means another file in each directory.
  if (!program.startsWith("/") || !isGranted(program)) {
    throw new Deno.errors.NotCapable(
      `Requires run access to "${command}", run again with the --allow-run flag`,
    );
  }
}

/** Whether a program may be run; asks the user where Deno would. */
function isGranted(program: string): boolean {
  const descriptor = { name: "run", command: program } as const;
  // Where it is granted or denied already, nobody is asked.
  return Deno.permissions.requestSync(descriptor).state === "granted";
}

/** Variables that make the dynamic loader run any code need every permission. */
function requireNoLoaderVariables(
  environment: Iterable<readonly [name: string, value: string]>,
): void {
  const names = [...environment]
    .filter(([name, value]) => isLoaderVariable(name) && value !== "")
    .map(([name]) => name)
    .sort();
  if (names.length === 0) return;
  const [plural, article] = names.length === 1 ? ["", "the"] : ["s", "these"];
  throw new Deno.errors.NotCapable(
    `Requires --allow-run permissions to spawn subprocess with ${
      names.join(", ")
    } environment variable${plural}. Alternatively, spawn with ${article} environment variable${plural} unset.`,
  );
}

function isLoaderVariable(name: string): boolean {
  return /^\p{White_Space}*(?:LD|DYLD)_/iu.test(name);
}

function expandTilde(entry: string, home: string | undefined): string {
  const isHome = entry === "~" || entry.startsWith("~/");
  return isHome && home !== undefined ? home + entry.slice(1) : entry;
}

/** Whether a path leads to a file that this process may execute. */
export function isExecutableFile(path: string): boolean {
  return mayExecute(cString(path)) && fileType(path) === "file";
}

/** Whether there is something that this process may execute, or search. */
function mayExecute(path: Uint8Array<ArrayBuffer>): boolean {
  return libc().faccessat(C.AT_FDCWD, path, C.X_OK, 0) === 0;
}
