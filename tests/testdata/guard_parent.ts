// Copyright 2026 the @proc/group authors. MIT license.

// Starts a group for each script among its arguments, says how its guard can be
// recognized, and does what the lines of its input say.

import { holdGuard } from "../../_platform/guard.ts";
import { parentMark } from "../../_platform/marks.ts";
import { platformFor } from "../../_platform/mod.ts";
import {
  type ProcessGroup,
  spawnGroup,
  stopGroup,
} from "../../process_group.ts";

const groups: ProcessGroup[] = [];

function start(script: string): void {
  groups.push(
    spawnGroup("bash", ["-c", script], {
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }),
  );
}

/**
 * Waits until the guard has been told of all. The first line to a guard that is
 * a `Deno.Command` waits until the event loop looks at its descriptors; the end
 * of a child shows that it has.
 */
async function untilAnnounced(): Promise<void> {
  await new Deno.Command("true").output();
}

/** Groups that come and go, with numbers that nobody has. */
function flood(count: number): void {
  for (let i = 0; i < count; i++) {
    const hold = holdGuard(platformFor().name);
    hold.announce(50_000_000 + i);
    hold.standDown();
  }
}

/** Does what a line says; true if the program is to end by itself. */
async function obey(line: string): Promise<boolean> {
  const [verb, argument = ""] = line.split(/ (.*)/s);
  if (verb === "exit") Deno.exit(3);
  if (verb === "throw") throw new Error("The program failed");
  if (verb === "start") {
    start(argument);
    await untilAnnounced();
  }
  if (verb === "stop") await stopGroup(groups[Number(argument)]!);
  if (verb === "flood") flood(Number(argument));
  if (verb === "return") groups.forEach((group) => group.unref());
  return verb === "return";
}

async function obeyAll(): Promise<void> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of Deno.stdin.readable) {
    text += decoder.decode(bytes, { stream: true });
    const lines = text.split("\n");
    text = lines.pop()!;
    for (const line of lines) {
      if (await obey(line)) return;
      console.log("done");
    }
  }
}

Deno.args.forEach(start);
await untilAnnounced();
console.log(parentMark);
await obeyAll();
