// Copyright 2026 the @proc/group authors. MIT license.

/** From the start to the end of whole programs. */

import { commandLines } from "./experiments/startup.ts";

const directory = Deno.makeTempDirSync();
globalThis.addEventListener("unload", () => {
  Deno.removeSync(directory, { recursive: true });
});

for (const [i, line] of (await commandLines(directory)).entries()) {
  const { what, command, args } = line;
  Deno.bench({
    name: what,
    group: "start-up",
    baseline: i === 0,
    n: 10,
    warmup: 2,
    async fn() {
      await new Deno.Command(command, { args }).output();
    },
  });
}
