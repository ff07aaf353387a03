// Copyright 2026 the @proc/group authors. MIT license.

/** Pseudo-terminals; the baseline is a pipe, which is no terminal. */

import { build } from "./_build.ts";
import { throughput } from "./ways/_tasks.js";
import {
  openCommand,
  openPty,
  openScript,
  type OpenTerminal,
} from "./ways/terminal.ts";

const BYTES = 4_000_000;

const WAYS: readonly [name: string, open: OpenTerminal][] = [
  ["Deno.Command, pipe", openCommand],
  ["this package", openPty],
  ["script(1)", openScript],
];

const hasFfi = Deno.permissions.querySync({ name: "ffi" }).state === "granted";
const directory = Deno.makeTempDirSync();
const programs = await build(directory);
globalThis.addEventListener("unload", () => {
  Deno.removeSync(directory, { recursive: true });
});

for (const [i, [name, open]] of WAYS.entries()) {
  const ignore = programs === null || (open === openPty && !hasFfi);
  Deno.bench({
    name,
    group: "read 4 MB",
    baseline: i === 0,
    ignore,
    n: 10,
    warmup: 2,
    async fn() {
      await throughput(open, { tools: programs!.tools, bytes: BYTES });
    },
  });
  Deno.bench({
    name,
    group: "start, print one line, end",
    baseline: i === 0,
    ignore,
    n: 20,
    warmup: 2,
    async fn() {
      await open("echo", ["done"], () => {}).ended;
    },
  });
}
