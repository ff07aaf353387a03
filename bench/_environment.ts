// Copyright 2026 the @proc/group authors. MIT license.

/** On what the report was made. */

import { peerName } from "./_peers.ts";

/** Machine, kernel and versions, one a line. */
export async function environment(compiler: string): Promise<string[]> {
  const memory = (Deno.systemMemoryInfo().total / 2 ** 30).toFixed(0);
  const cores = navigator.hardwareConcurrency;
  const peers = ["execa", "zx", "tree-kill", "node-pty", "echarts"] as const;
  return [
    `${cores} cores of ${await cpuModel()}, ${memory} GiB of memory`,
    `Linux ${Deno.osRelease()}, ${Deno.build.arch}`,
    `Deno ${Deno.version.deno}, Node ${await version("node")}, ${compiler}`,
    `${await version("timeout")}, ${await version("script")}`,
    peers.map(peerName).join(", "),
  ];
}

async function cpuModel(): Promise<string> {
  const text = await Deno.readTextFile("/proc/cpuinfo");
  return /^model name\s*:\s*(.*)$/m.exec(text)?.[1] ?? "an unknown kind";
}

/** First line of what a program says about its version. */
async function version(program: string): Promise<string> {
  try {
    const { stdout } = await new Deno.Command(program, {
      args: ["--version"],
    }).output();
    return new TextDecoder().decode(stdout).split("\n")[0]!;
  } catch {
    return `no ${program}`;
  }
}
