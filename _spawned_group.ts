// Copyright 2026 the @proc/group authors. MIT license.

import { GroupHandle } from "./_group.ts";
import { DEFAULT_DRAIN_MS, type PreparedSpawn } from "./_options.ts";
import { platformFor } from "./_platform/mod.ts";
import { SurvivorsError } from "./_errors.ts";
import { registerGroup } from "./_registry.ts";
import { signalOrThrow } from "./_target.ts";
import type { ProcessGroup } from "./process_group.ts";

/** Starts what was prepared and gives the public object for it. */
export function startGroup(prepared: PreparedSpawn): ProcessGroup {
  const { request, settings, signal } = prepared;
  const platform = platformFor(request);
  const group = new GroupHandle({
    platform,
    leader: platform.spawn(request),
    group: request.group,
    settings,
    commandLine: [request.command, ...request.args].join(" "),
    signal,
  });
  return new SpawnedGroup(group);
}

class SpawnedGroup implements ProcessGroup {
  #handle: GroupHandle;

  constructor(handle: GroupHandle) {
    this.#handle = handle;
    registerGroup(this, handle);
  }

  get pid(): number {
    return this.#handle.leader.pid;
  }

  get pgid(): number {
    return this.#handle.pgid;
  }

  get stdin(): ProcessGroup["stdin"] {
    return piped("stdin", this.#handle.leader.stdin);
  }

  get stdout(): Deno.SubprocessReadableStream {
    return piped("stdout", this.#handle.leader.stdout);
  }

  get stderr(): Deno.SubprocessReadableStream {
    return piped("stderr", this.#handle.leader.stderr);
  }

  get status(): Promise<Deno.CommandStatus> {
    return this.#handle.status;
  }

  async output(): Promise<Deno.CommandOutput> {
    if (!this.#handle.isRead) this.#checkUnlocked();
    const reader = this.#handle.read();
    const status = await this.#handle.status;
    await reader.drain(DEFAULT_DRAIN_MS);
    await reader.cancel();
    return reader.output(status, {});
  }

  [Symbol.for("Deno.customInspect")](): string {
    return `ProcessGroup { pid: ${this.pid}, command: ${
      JSON.stringify(this.#handle.commandLine)
    } }`;
  }

  kill(signo: Deno.Signal | number = "SIGTERM"): void {
    signalOrThrow(this.#handle, signo);
  }

  ref(): void {
    this.#handle.leader.ref();
  }

  unref(): void {
    this.#handle.leader.unref();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      const { report } = await this.#handle.stop();
      if (report.survivors.length > 0) throw new SurvivorsError(report);
    } finally {
      await this.#handle.closeStreams();
    }
  }

  #checkUnlocked(): void {
    for (const name of ["stdout", "stderr"] as const) {
      if (this.#handle.leader[name]?.locked) {
        throw new TypeError(`Cannot collect output: '${name}' is locked`);
      }
    }
  }
}

function piped<T>(name: string, stream: T | null): T {
  if (stream === null) {
    throw new TypeError(`Cannot get '${name}': '${name}' is not piped`);
  }
  return stream;
}
