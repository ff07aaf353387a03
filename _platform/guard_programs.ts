// Copyright 2026 the @proc/group authors. MIT license.

/** Which programs the guard may use, as the permissions are by now. */

import { C } from "./constants.ts";
import { inheritedEnvironment } from "./environment.ts";
import { guardScript } from "./guard_script.ts";
import { cString, libc, libcAvailable } from "./libc.ts";
import { parentMark } from "./marks.ts";
import { findProgram } from "./resolve.ts";

/** Where the system's own programs are, on NixOS too. */
const DIRECTORIES = [
  "/bin",
  "/usr/bin",
  "/usr/local/bin",
  "/run/current-system/sw/bin",
];

/** What starts a guard, and what it is given. */
export interface GuardCommand {
  /** Path of the shell. */
  readonly sh: string;
  /** Arguments of the shell, its own name not included. */
  readonly args: readonly string[];
  /** Path of setsid(1); empty where there is none or it may not be run. */
  readonly setsid: string;
}

/** The guard's command, or null where no shell may be run. */
export function guardCommand(): GuardCommand | null {
  const find = libcAvailable() ? findThroughLibc : findUnseen;
  const sh = find("sh");
  if (sh === "") return null;
  const [grep, sleep, setsid] = [find("grep"), find("sleep"), find("setsid")];
  const args = ["-c", guardScript, "proc-group-guard", parentMark, grep, sleep];
  return { sh, args, setsid };
}

/**
 * The first path of a program that is there and may be run. `--allow-run=sh`
 * grants the one path that Deno has found, so each is tried.
 */
function findThroughLibc(name: string): string {
  for (const directory of DIRECTORIES) {
    const path = `${directory}/${name}`;
    if (isExecutable(path) && mayRun(path)) return path;
  }
  const path = inheritedEnvironment().values.get("PATH");
  const found = findProgram(name, { cwd: "/", path, home: undefined });
  return found?.startsWith("/") && mayRun(found) ? found : "";
}

/**
 * Without libc nobody here may look whether a program exists. The shell and
 * setsid are where they always are, or the start fails; the others are found
 * by the shell.
 */
function findUnseen(name: string): string {
  const path = name === "sh" ? "/bin/sh" : `/usr/bin/${name}`;
  if (!mayRun(path)) return "";
  return name === "sh" || name === "setsid" ? path : name;
}

function isExecutable(path: string): boolean {
  return libc().faccessat(C.AT_FDCWD, cString(path), C.X_OK, 0) === 0;
}

function mayRun(command: string): boolean {
  return Deno.permissions.querySync({ name: "run", command }).state ===
    "granted";
}
