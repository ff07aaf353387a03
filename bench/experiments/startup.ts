// Copyright 2026 the @proc/group authors. MIT license.

/** Starting up: what an import and the timeout command cost. */

import { median } from "../_stats.ts";

/** One command line. */
export interface StartupResult {
  readonly what: string;
  readonly n: number;
  readonly ms: number;
}

const root = new URL("../../", import.meta.url);
const MAP = new URL("std_from_npm.json", root).pathname;
const RUN = ["run", "--quiet", "--no-lock", `--import-map=${MAP}`];

/** Runs all command lines so many times, in turns. */
export async function runStartup(rounds: number): Promise<StartupResult[]> {
  const directory = await Deno.makeTempDir();
  try {
    const lines = await commandLines(directory);
    const times = lines.map((): number[] => []);
    for (let round = -2; round < rounds; round++) {
      for (const [i, { command, args }] of lines.entries()) {
        const ms = await timeOne(command, args);
        if (round >= 0) times[i]!.push(ms);
      }
    }
    return lines.map(({ what }, i) => ({
      what,
      n: rounds,
      ms: median(times[i]!),
    }));
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** What is compared: name, program and arguments. */
export interface CommandLine {
  readonly what: string;
  readonly command: string;
  readonly args: string[];
}

/** The command lines; their modules are written to the folder. */
export async function commandLines(directory: string): Promise<CommandLine[]> {
  const empty = `${directory}/empty.ts`;
  const importing = `${directory}/import.ts`;
  await Deno.writeTextFile(empty, "");
  await Deno.writeTextFile(importing, `import "${new URL("mod.ts", root)}";`);
  const timeout = new URL("timeout.ts", root).pathname;
  const deno = (what: string, ...args: string[]): CommandLine => ({
    what,
    command: Deno.execPath(),
    args: [...RUN, ...args],
  });
  return [
    { what: "true", command: "true", args: [] },
    { what: "GNU timeout 9 true", command: "timeout", args: ["9", "true"] },
    deno("deno run, empty module", empty),
    deno("deno run, import of mod.ts", importing),
    deno("timeout.ts 9 true, FFI", "-A", timeout, "9", "true"),
    deno(
      "timeout.ts 9 true, portable",
      "-A",
      "--deny-ffi",
      timeout,
      "9",
      "true",
    ),
  ];
}

async function timeOne(command: string, args: string[]): Promise<number> {
  const startedAt = performance.now();
  const { code, stderr } = await new Deno.Command(command, { args }).output();
  const ms = performance.now() - startedAt;
  if (code === 0) return ms;
  throw new Error(new TextDecoder().decode(stderr));
}
