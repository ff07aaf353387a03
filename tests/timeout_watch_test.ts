// Copyright 2026 the @proc/group authors. MIT license.

import { assertEquals, assertRejects } from "@std/assert";
import { parseTimeoutArgs, type TimeoutRun } from "../_timeout_args.ts";
import { after, type Job, type Stopped } from "../_timeout_job.ts";
import { Watch } from "../_timeout_watch.ts";

const NOTHING: Stopped = { forced: false, seen: [], survivors: [] };

/** A job that is nobody: it records what is done, and ends when told to. */
class FakeJob implements Job {
  readonly pid = 4242;
  readonly calls: string[] = [];
  readonly #status = Promise.withResolvers<Deno.CommandStatus>();
  readonly #onStop: (job: FakeJob) => Promise<Stopped>;

  constructor(onStop: (job: FakeJob) => Promise<Stopped>) {
    this.#onStop = onStop;
  }

  get status(): Promise<Deno.CommandStatus> {
    return this.#status.promise;
  }

  exit(code: number): void {
    this.#status.resolve({ success: code === 0, code, signal: null });
  }

  signal(signal: Deno.Signal): void {
    this.calls.push(signal);
  }

  stop(signal: Deno.Signal, graceMs: number): Promise<Stopped> {
    this.calls.push(`stop ${signal} ${graceMs}`);
    return this.#onStop(this);
  }
}

function watch(job: Job, ...options: string[]): Watch {
  const request = parseTimeoutArgs([...options, "1ms", "cmd"]) as TimeoutRun;
  return Object.assign(new Watch(request), { job });
}

Deno.test("Watch.end() never plans SIGKILL with -k0, except for leftovers", async () => {
  const job = new FakeJob((job) => {
    job.exit(9);
    return Promise.resolve(NOTHING);
  });
  assertEquals(await watch(job, "-k0").end(), { code: 124 });
  assertEquals(job.calls, ["stop SIGTERM Infinity", "stop SIGTERM 5000"]);
});

Deno.test("Watch.end() uses the first signal and grace that were asked for", async () => {
  const job = new FakeJob((job) => {
    job.exit(9);
    return Promise.resolve(NOTHING);
  });
  assertEquals(await watch(job, "-p", "-k2", "-sINT").end(), { code: 9 });
  assertEquals(job.calls, ["stop SIGINT 2000", "stop SIGTERM 2000"]);
});

Deno.test("Watch.end() gives up on a command that cannot be ended", async () => {
  const self = { pid: 4242, command: "cmd" };
  const job = new FakeJob(() =>
    Promise.resolve({ forced: true, seen: [self], survivors: [self] })
  );
  assertEquals(await watch(job).end(), { code: 124 });
});

Deno.test("Watch.end() rejects and kills if stopping fails", async () => {
  const job = new FakeJob(() => Promise.reject(new Error("no scan")));
  await assertRejects(() => watch(job).end(), Error, "no scan");
  assertEquals(job.calls.at(-1), "SIGKILL");
});

Deno.test("after() waits for longer than setTimeout can", async () => {
  let fired = false;
  const cancel = after(30 * 86_400_000, () => fired = true);
  await new Promise<void>((resolve) => after(20, resolve));
  cancel();
  assertEquals(fired, false);
});
