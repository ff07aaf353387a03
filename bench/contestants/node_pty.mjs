// Copyright 2026 the @proc/group authors. MIT license.

// node-pty in Node, where it is at home. The argument is where it is installed.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { fastExit, roundTrip, stuckWrite, throughput } from "../ways/_tasks.js";

const { spawn } = createRequire(`${process.argv[2]}/`)("node-pty");
const tasks = { fastExit, roundTrip, stuckWrite, throughput };

function open(command, args, onData) {
  // Bytes, as with the others: decoding is not what is measured.
  const terminal = spawn(command, args, { encoding: null });
  terminal.onData(onData);
  return {
    write: (text) => terminal.write(text),
    kill: () => terminal.kill("SIGKILL"),
    // Output that comes late still counts.
    ended: new Promise((resolve) =>
      terminal.onExit(() => setTimeout(resolve, 50))
    ),
  };
}

for await (const line of createInterface(process.stdin)) {
  const { call, args } = JSON.parse(line);
  const value = await tasks[call](open, args);
  process.stdout.write(`${JSON.stringify({ value, cpuMs: 0 })}\n`);
}
process.exit(0);
