// Copyright 2026 the @proc/group authors. MIT license.

/**
 * What every pseudo-terminal must do, in JavaScript that Node can run as well.
 * Each task takes `open(command, args, onData)`, which gives `write(text)`,
 * `kill()` and `ended`, a promise that settles after the last byte.
 */

/** How fast output is read: from the start until all of it is there. */
export async function throughput(open, { tools, bytes }) {
  let total = 0;
  let lastAt = 0;
  const startedAt = performance.now();
  const terminal = open(tools, ["spew", `${bytes}`], (chunk) => {
    total += chunk.length;
    lastAt = performance.now();
  });
  await terminal.ended;
  return { ms: lastAt - startedAt, bytes: total };
}

/** How long one byte takes to the program and back: all times. */
export async function roundTrip(open, { tools, rounds }) {
  const times = [];
  let arrived;
  const next = () => new Promise((resolve) => arrived = resolve);
  let wait = next();
  const terminal = open(tools, ["echo"], () => arrived());
  await wait;
  for (let round = 0; round < rounds; round++) {
    wait = next();
    const startedAt = performance.now();
    terminal.write("x");
    await wait;
    times.push(performance.now() - startedAt);
  }
  terminal.kill();
  await terminal.ended;
  return times;
}

/** How many of the programs that print and end at once lose output. */
export async function fastExit(open, { tools, bytes, runs }) {
  let cut = 0;
  let lost = 0;
  for (let run = 0; run < runs; run++) {
    const result = await throughput(open, { tools, bytes });
    if (result.bytes < bytes) cut++;
    lost += bytes - result.bytes;
  }
  return { cut, lost };
}

/** Longest pause of the event loop while a write of 1 MiB cannot go on. */
export async function stuckWrite(open) {
  const terminal = open("sleep", ["2"], () => {});
  let last = performance.now();
  let longest = 0;
  const timer = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last - 10);
    last = now;
  }, 10);
  await new Promise((resolve) => setTimeout(resolve, 100));
  terminal.write(`${"x".repeat(63)}\n`.repeat(2 ** 14));
  await new Promise((resolve) => setTimeout(resolve, 1000));
  clearInterval(timer);
  terminal.kill();
  await terminal.ended;
  return longest;
}
