// Copyright 2026 the @proc/group authors. MIT license.

/**
 * Runs shell commands side by side: a few at a time, a deadline for each and
 * one for all, with progress. Whatever happens, nothing of them is left.
 *
 * ```sh
 * deno run -A --import-map=std_from_npm.json examples/jobs.ts \
 *   'sleep 1' 'sleep 60 & sleep 60' 'exit 3'
 * ```
 *
 * @module
 */

import { DeadlineExceededError, spawnGroup, withDeadline } from "@proc/group";

/** How {@linkcode runJobs} runs its jobs. */
export interface JobsOptions {
  /** How many run at the same time. */
  concurrency: number;
  /** Deadline of each job, in milliseconds. */
  jobMs: number;
  /** Deadline of all jobs together, in milliseconds. */
  allMs: number;
  /** Called when a job has ended. */
  onProgress?: (result: JobResult, done: number, total: number) => void;
}

/** What became of a job. */
export interface JobResult {
  command: string;
  outcome: "ok" | "failed" | "too late" | "not started";
  /** Exit code, if it ended by itself. */
  code?: number;
  output: string;
}

/** Runs all jobs; never rejects for what a job does. */
export async function runJobs(
  commands: string[],
  options: JobsOptions,
): Promise<JobResult[]> {
  const results = commands.map((command): JobResult => ({
    command,
    outcome: "not started",
    output: "",
  }));
  const waiting = results.keys();
  let done = 0;
  const worker = async (signal: AbortSignal) => {
    for (const index of waiting) {
      if (signal.aborted) return;
      const result = await runJob(commands[index]!, options.jobMs, signal);
      results[index] = result;
      options.onProgress?.(result, ++done, commands.length);
    }
  };
  try {
    await withDeadline(async (signal) => {
      const workers = Array.from(
        { length: options.concurrency },
        () => worker(signal),
      );
      await Promise.all(workers);
    }, options.allMs);
  } catch (error) {
    if (!(error instanceof DeadlineExceededError)) throw error;
  }
  return results;
}

async function runJob(
  command: string,
  ms: number,
  signal: AbortSignal,
): Promise<JobResult> {
  await using group = spawnGroup("sh", ["-c", command], {
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
  try {
    const output = await withDeadline(group, ms, { signal });
    return {
      command,
      outcome: output.success ? "ok" : "failed",
      code: output.code,
      output: text(output),
    };
  } catch (error) {
    // The deadline of all jobs aborts the signal with such an error as well.
    if (!(error instanceof DeadlineExceededError)) throw error;
    const output = error.output ?? await group.output();
    return { command, outcome: "too late", output: text(output) };
  }
}

function text({ stdout, stderr }: Deno.CommandOutput): string {
  const decoder = new TextDecoder();
  return decoder.decode(stdout) + decoder.decode(stderr);
}

if (import.meta.main) {
  const results = await runJobs(Deno.args, {
    concurrency: navigator.hardwareConcurrency,
    jobMs: 5000,
    allMs: 20_000,
    onProgress: ({ command, outcome }, done, total) =>
      console.log(`[${done}/${total}] ${outcome}: ${command}`),
  });
  Deno.exit(results.every(({ outcome }) => outcome === "ok") ? 0 : 1);
}
