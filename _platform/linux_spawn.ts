// Copyright 2026 the @proc/group authors. MIT license.

import { C } from "./constants.ts";
import { containedCommand } from "./contain.ts";
import { check, describeErrno, Errno, systemError } from "./errno.ts";
import { inheritedEnvironment } from "./environment.ts";
import { errno, libc } from "./libc.ts";
import { markEnv } from "./marks.ts";
import { endReserve, reserveDescriptor } from "./pidfd.ts";
import type { SpawnRequest } from "./platform.ts";
import { type FileAction, posixSpawn, type SpawnPlan } from "./posix_spawn.ts";
import {
  currentDirectory,
  fileType,
  findProgram,
  isExecutableFile,
  joinPath,
  mayRunAll,
  requireRun,
  type SearchOptions,
} from "./resolve.ts";

/** Names of the standard streams, by descriptor. */
const STREAMS = ["stdin", "stdout", "stderr"] as const;

/** Where a file without `#!` is run, as execvp(3) does it. */
const SHELL = "/bin/sh";

/** They would not follow the size of the child's terminal. */
const SIZE_VARIABLES = ["COLUMNS", "LINES"];

/** A child and this process's ends of its pipes. */
export interface SpawnedChild {
  readonly pid: number;
  /** Nonblocking and CLOEXEC; null unless piped. */
  readonly pipes: Readonly<Record<(typeof STREAMS)[number], number | null>>;
}

/** Ends of pipes: this process's by the child's descriptor, and the child's. */
interface PipeEnds {
  readonly ours: (number | null)[];
  readonly theirs: number[];
}

/** What to run and with which variables. */
interface Program {
  readonly path: string;
  readonly cwd: string | undefined;
  /** Addresses of the variables that are this process's own. */
  readonly inherited: BigUint64Array;
  readonly env: string[];
}

/** Starts the leader of a session. Throws what `Deno.Command` throws. */
export function spawnChild(wanted: SpawnRequest): SpawnedChild {
  const found = prepare(wanted);
  const [request, program] = wanted.contain
    ? contain(wanted, found)
    : [wanted, found];
  const ends: PipeEnds = { ours: [], theirs: [] };
  const { ours, theirs } = ends;
  try {
    // What cannot be held by a pidfd afterwards must not be started.
    if (!reserveDescriptor()) throw reason(program, errno());
    const actions = request.terminal
      ? terminalActions(request.terminal.path)
      : STREAMS.map((name, fd) => connect(request[name], fd, program, ends))
        .filter((action) => action !== null);
    const pid = start(request, program, actions);
    const [stdin = null, stdout = null, stderr = null] = ours;
    return { pid, pipes: { stdin, stdout, stderr } };
  } catch (error) {
    for (const fd of ours) {
      if (fd !== null) libc().close(fd);
    }
    endReserve();
    throw error;
  } finally {
    for (const fd of theirs) libc().close(fd);
  }
}

/** Finds the program and makes sure that it may be run. */
function prepare(request: SpawnRequest): Program {
  const { command, env } = request;
  const { values, names, addresses } = inheritedEnvironment();
  const cwd = childDirectory(command, request.cwd);
  const search = {
    cwd: cwd ?? "",
    path: env.PATH ?? values.get("PATH"),
    home: values.get("HOME"),
  };
  const mayRunAny = mayRunAll();
  const path = findOrThrow(command, search);
  const replaced = [
    ...Object.keys(env),
    ...(request.terminal ? SIZE_VARIABLES : []),
  ];
  const isPassedOn = (name: string) =>
    !request.clearEnv && !replaced.includes(name);
  if (!mayRunAny) {
    requireRun(command, path, () => [
      ...[...values].filter(([name]) => isPassedOn(name)),
      ...Object.entries(env),
    ]);
  }
  const isWhole = !request.clearEnv &&
    !replaced.some((name) => values.has(name));
  const marks = markEnv(request.group, request.outlive);
  return {
    path,
    cwd: request.cwd === undefined ? undefined : cwd,
    inherited: isWhole
      ? addresses
      : addresses.filter((_, i) => isPassedOn(names[i]!)),
    env: [...entries(env), ...entries(marks)],
  };
}

/** The path of a program, or the error of `Deno.Command` if there is none. */
function findOrThrow(command: string, search: SearchOptions): string {
  const path = findProgram(command, search);
  if (path === null) {
    throw spawnError(command, Errno.ENOENT, "entity not found");
  }
  return path;
}

function entries(env: Record<string, string>): string[] {
  return Object.entries(env).map(([name, value]) => `${name}=${value}`);
}

/**
 * Puts a shell in the program's place that runs it contained. What the kernel
 * would say about the program is found out before.
 */
function contain(
  request: SpawnRequest,
  program: Program,
): [SpawnRequest, Program] {
  if (fileType(program.path) === null) throw reason(program, Errno.ENOENT);
  if (!isExecutableFile(program.path)) throw reason(program, Errno.EACCES);
  const { command, args } = containedCommand(program.path, request);
  return [{ ...request, args }, { ...program, path: command }];
}

/** The absolute directory that a path, or a path in `PATH`, is relative to. */
function childDirectory(
  command: string,
  cwd: string | undefined,
): string | undefined {
  if (cwd?.startsWith("/")) return joinPath("", cwd);
  // A bare name is looked for in PATH.
  const isRelative = command.includes("/") && !command.startsWith("/");
  if (cwd === undefined && !isRelative) return undefined;
  return joinPath(ownDirectory(command), cwd ?? "");
}

/** This process's directory, which may have been removed. */
function ownDirectory(command: string): string {
  try {
    return currentDirectory();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    const text = `failed resolving cwd: ${describeErrno(Errno.ENOENT)}`;
    throw spawnError(command, Errno.ENOENT, text);
  }
}

/**
 * Connects a standard stream of the child. Notes this process's end and the
 * child's end of a pipe; null where there is nothing to be done.
 */
function connect(
  kind: "piped" | "inherit" | "null",
  fd: number,
  program: Program,
  { ours, theirs }: PipeEnds,
): FileAction | null {
  ours[fd] = null;
  if (kind === "inherit") return null;
  const isInput = fd === 0;
  if (kind === "null") {
    const flags = isInput ? C.O_RDONLY : C.O_WRONLY;
    return { fd, open: "/dev/null", flags };
  }
  const ends = new Int32Array(2);
  if (libc().pipe2(ends, C.O_CLOEXEC) === -1) throw reason(program, errno());
  const [read = -1, write = -1] = ends;
  const [our, their] = isInput ? [write, read] : [read, write];
  ours[fd] = our;
  theirs.push(their);
  // The other end is the child's own, who expects a pipe that blocks.
  check("fcntl", libc().fcntl(our, C.F_SETFL, C.O_NONBLOCK));
  return { fd, from: their };
}

/**
 * All three streams on a terminal. The leader of a new session gets the first
 * one that it opens as its controlling terminal.
 */
function terminalActions(path: string): FileAction[] {
  return [
    { fd: 0, open: path, flags: C.O_RDWR },
    { fd: 1, from: 0 },
    { fd: 2, from: 0 },
  ];
}

function start(
  request: SpawnRequest,
  program: Program,
  actions: readonly FileAction[],
): number {
  const { path, cwd, inherited, env } = program;
  const plan: SpawnPlan = {
    path,
    argv: [path, ...request.args],
    inherited,
    env,
    cwd,
    actions,
    newSession: true,
    resetSignals: request.terminal ? "all" : "pipe",
  };
  const result = posixSpawn(plan);
  if (result.errno === 0) return result.pid;
  if (result.errno !== Errno.ENOEXEC) throw reason(program, result.errno);
  const argv = [SHELL, ...plan.argv];
  const again = posixSpawn({ ...plan, path: SHELL, argv });
  if (again.errno === 0) return again.pid;
  throw reason(program, again.errno);
}

/** Why a program was not started: a directory that is none comes first. */
function reason({ path, cwd }: Program, errno: number): Error {
  if (cwd !== undefined) {
    const type = fileType(cwd);
    if (type === null) {
      return spawnError(path, Errno.ENOENT, `No such cwd '${cwd}'`);
    }
    if (type !== "directory") {
      const text = `cwd is not a directory '${cwd}'`;
      return spawnError(path, Errno.ENOENT, text);
    }
  }
  return spawnError(path, errno, describeErrno(errno));
}

/** An error as `Deno.Command` throws it. */
function spawnError(program: string, errno: number, text: string): Error {
  return systemError(errno, `Failed to spawn '${program}': ${text}`);
}
