// Copyright 2026 the @proc/group authors. MIT license.

// A Worker starts a group for each script among the arguments. The first line
// of the input makes the program terminate it, the second ends the program.

import { spawnGroup } from "../../process_group.ts";

/** What a Worker has besides. */
interface WorkerScope {
  onmessage: (event: MessageEvent<string[]>) => void;
  postMessage(message: string): void;
}

const isWorker = "WorkerGlobalScope" in globalThis;
const scope = globalThis as unknown as WorkerScope;

async function startGroups(scripts: string[]): Promise<void> {
  for (const script of scripts) {
    spawnGroup("bash", ["-c", script], {
      stdin: "null",
      stdout: "null",
      stderr: "null",
    });
  }
  // The end of a child shows that the guard has been told of all.
  await new Deno.Command("true").output();
  scope.postMessage("started");
}

async function main(): Promise<void> {
  const worker = new Worker(import.meta.url, { type: "module" });
  const started = new Promise((resolve) => worker.onmessage = resolve);
  worker.postMessage(Deno.args);
  await started;
  console.log("started");
  const reader = Deno.stdin.readable.getReader();
  await reader.read();
  worker.terminate();
  console.log("terminated");
  await reader.read();
  Deno.exit(0);
}

if (isWorker) {
  scope.onmessage = (event) => startGroups(event.data);
} else {
  await main();
}
