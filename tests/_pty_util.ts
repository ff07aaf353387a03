// Copyright 2026 the @proc/group authors. MIT license.

/** What the tests of pseudo-terminals share. */

import { fromRoot, importMap, isPortable, skipIf, textOf } from "./_util.ts";

/** Options of a test that starts a program on a terminal. */
export const NEEDS_FFI: { timeout: number; ignore: boolean } = {
  timeout: 90_000,
  ...skipIf(isPortable, "a pseudo-terminal needs --allow-ffi"),
};

/** Command line that runs a file of the project with all permissions. */
export function denoRun(
  path: string,
  ...args: string[]
): [command: string, ...args: string[]] {
  const run = ["run", "--quiet", "-A", ...importMap, fromRoot(path)];
  return [Deno.execPath(), ...run, ...args];
}

/** CPU time and number of threads of this process. */
export async function usage(): Promise<{ cpuMs: number; threads: number }> {
  const stat = await textOf("sh", "-c", "cat /proc/$PPID/stat");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const cpuMs = (Number(fields[11]) + Number(fields[12])) * 10;
  return { cpuMs, threads: Number(fields[17]) };
}
