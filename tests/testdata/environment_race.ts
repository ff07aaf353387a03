// Copyright 2026 the @proc/group authors. MIT license.

// Starts programs while a Worker changes the environment, for two seconds.

import { spawnGroup } from "../../process_group.ts";

const MS = 2000;

/** What a Worker has besides. */
interface WorkerScope {
  postMessage(message: string): void;
}

if ("WorkerGlobalScope" in globalThis) {
  const endAt = Date.now() + MS;
  for (let i = 0; Date.now() < endAt; i++) {
    // More and more of them, so that the array of their addresses moves.
    for (let k = 0; k < 20; k++) Deno.env.set(`RACE_${20 * i + k}`, `${i}`);
    Deno.env.delete(`RACE_${i}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  (globalThis as unknown as WorkerScope).postMessage("done");
} else {
  const worker = new Worker(import.meta.url, { type: "module" });
  let isOver = false;
  worker.onmessage = () => isOver = true;
  const options = { stdout: "piped", env: { OWN: "1" } } as const;
  let wrong = 0;
  while (!isOver) {
    const { stdout } = await spawnGroup("env", options).output();
    const lines = new TextDecoder().decode(stdout).split("\n");
    const has = (start: string) => lines.some((line) => line.startsWith(start));
    if (!has("PATH=/") || !has("OWN=1")) wrong++;
  }
  worker.terminate();
  console.log(`wrong ${wrong}`);
}
