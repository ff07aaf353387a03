// Copyright 2026 the @proc/group authors. MIT license.

/**
 * The timeout command: GNU timeout's command line and exit statuses, with the
 * promise that nothing of the command is left. Loaded only when `timeout.ts`
 * is run as a program, so that nobody else pays for it.
 */

import { delay } from "@std/async/delay";
import {
  parseTimeoutArgs,
  type TimeoutRequest,
  type TimeoutRun,
  UsageError,
} from "./_timeout_args.ts";
import { restoreDefault } from "./_platform/signal_default.ts";
import { startJob } from "./_timeout_job.ts";
import { complain, HELP, quote, write } from "./_timeout_text.ts";
import { type Ending, FAILED, SETTLE_MS, Watch } from "./_timeout_watch.ts";

const CANNOT_RUN = 126;
const NOT_FOUND = 127;

/** Bits of a file's mode that let anybody execute it, inode(7). */
const ANY_EXECUTE = 0o111;

/** How often it tries to die of a signal, with SETTLE_MS in between. */
const DEATH_ATTEMPTS = 50;

/** Signals that write a core dump, signal(7). */
const CORE_SIGNALS: readonly string[] = [
  "SIGABRT",
  "SIGBUS",
  "SIGFPE",
  "SIGILL",
  "SIGQUIT",
  "SIGSEGV",
  "SIGSYS",
  "SIGTRAP",
  "SIGXCPU",
  "SIGXFSZ",
];

/** Runs the timeout command and ends the program. */
export async function main(args: readonly string[]): Promise<never> {
  let ending: Ending = { code: FAILED };
  try {
    requireText(args);
    ending = await run(parseTimeoutArgs(args));
  } catch (error) {
    complain(explain(error));
  }
  if (ending.signal !== undefined) await dieOf(ending.signal);
  Deno.exit(ending.code);
}

/**
 * The runtime gives a program text alone: an argument of other bytes arrives
 * changed, and the command would do its work on another file.
 */
function requireText(args: readonly string[]): void {
  if (!args.some((arg) => arg.includes("\ufffd"))) return;
  if (isUtf8(`/proc/${Deno.pid}/cmdline`)) return;
  throw new UsageError("an argument is not known to be UTF-8, as it has to be");
}

/** Whether a file that needs all permissions to read here is not empty text. */
function isUtf8(path: string): boolean {
  if (Deno.permissions.querySync({ name: "run" }).state !== "granted") {
    return false;
  }
  try {
    const { stdout } = new Deno.Command("cat", {
      args: [path],
      stdin: "null",
      stderr: "null",
    }).outputSync();
    return new TextDecoder("utf-8", { fatal: true }).decode(stdout) !== "";
  } catch {
    // Other bytes, or no such program.
    return false;
  }
}

async function run(request: TimeoutRequest): Promise<Ending> {
  switch (request.kind) {
    case "help":
      write(Deno.stdout, HELP);
      return { code: 0 };
    case "version": {
      const manifest = await import("./deno.json", { with: { type: "json" } });
      const { name, version } = manifest.default;
      write(Deno.stdout, `timeout (${name}) ${version}\n`);
      return { code: 0 };
    }
    case "run":
      return await runCommand(request);
  }
}

async function runCommand(request: TimeoutRun): Promise<Ending> {
  const startPty = request.pty
    ? (await import("./_timeout_pty.ts")).startOnPty
    : null;
  const watch = new Watch(request);
  for (const type of ["error", "unhandledrejection"]) {
    addEventListener(type, (event) => failUnexpectedly(event, watch));
  }
  // A signal that comes before the start waits until it can be passed on.
  if (!watch.isCallerIgnoring) watch.listen();
  try {
    watch.job = startJob(request, startPty);
  } catch (error) {
    return failedToStart(request.command, error);
  }
  // Listening to one signal changes others too. The command must not inherit
  // that where the caller, such as nohup(1), wants it to ignore some.
  if (watch.isCallerIgnoring) watch.listen();
  const ending = await watch.end();
  // Whoever ends by a status listens to the last: a signal that is on its way
  // would end it otherwise.
  if (ending.signal !== undefined) watch.release();
  return ending;
}

/** An error that nobody catches must not leave the command alone. */
function failUnexpectedly(event: Event, watch: Watch): never {
  event.preventDefault();
  watch.abandon();
  const error = "reason" in event ? event.reason : (event as ErrorEvent).error;
  complain(explain(error));
  Deno.exit(FAILED);
}

/** The exit status where the command could not be started. */
function failedToStart(command: string, error: unknown): Ending {
  const code = exitStatusFor(command, error);
  if (code === FAILED) throw error;
  complain(`cannot run ${quote(command)}: ${reason(error, code)}`);
  return { code };
}

function exitStatusFor(command: string, error: unknown): number {
  if (error instanceof Deno.errors.NotFound) {
    return isRefusedInPath(command) ? CANNOT_RUN : NOT_FOUND;
  }
  const denied = error instanceof Deno.errors.PermissionDenied;
  return denied || isExecError(error) ? CANNOT_RUN : FAILED;
}

/**
 * Whether PATH leads to something of this name that cannot be executed. The
 * runtime passes over it and says that there is nothing.
 */
function isRefusedInPath(command: string): boolean {
  const isGranted = (descriptor: Deno.PermissionDescriptor) =>
    Deno.permissions.querySync(descriptor).state === "granted";
  if (
    command === "" || command.includes("/") || !isGranted({ name: "read" }) ||
    !isGranted({ name: "env", variable: "PATH" })
  ) return false;
  return (Deno.env.get("PATH") ?? "").split(":").some((directory) => {
    try {
      const { isFile, mode } = Deno.statSync(`${directory || "."}/${command}`);
      return !isFile || ((mode ?? 0) & ANY_EXECUTE) === 0;
    } catch {
      return false;
    }
  });
}

/** Whether the file itself was refused, and not for want of resources. */
function isExecError(error: unknown): boolean {
  if (!(error instanceof Error) || !("code" in error)) return false;
  const { code } = error;
  return typeof code === "string" &&
    !["EAGAIN", "ENOMEM", "EMFILE", "ENFILE"].includes(code);
}

function reason(error: unknown, code: number): string {
  if (code === NOT_FOUND) return "no such file or directory";
  const known = error instanceof Deno.errors.PermissionDenied ||
    error instanceof Deno.errors.NotFound;
  if (known) return "permission denied";
  return explain(error).replace(/^Failed to spawn '.*': /, "");
}

/** An error in one line. */
function explain(error: unknown): string {
  if (error instanceof UsageError) return `${error.message} (see --help)`;
  const message = error instanceof Error ? error.message : String(error);
  return message.replaceAll(/\s*\n\s*/g, " ");
}

/**
 * Ends this program by the signal that ended the command, so that a shell sees
 * what it would have seen without this program. Returns where that fails.
 */
async function dieOf(signal: Deno.Signal): Promise<void> {
  // The kernel protects the first process of a container from itself.
  if (Deno.pid === 1) return;
  // The runtime ignores this one.
  if (signal === "SIGPIPE" && !restoreDefault(signal)) return;
  if (CORE_SIGNALS.includes(signal)) forbidCoreDump();
  // The runtime has handlers of its own for some, which step aside one by one,
  // and not at once on a busy machine.
  for (let attempt = 0; attempt < DEATH_ATTEMPTS; attempt++) {
    Deno.kill(Deno.pid, signal);
    await delay(SETTLE_MS);
  }
}

/** A dump of this runtime would replace or bury the one of the command. */
function forbidCoreDump(): void {
  if (Deno.permissions.querySync({ name: "run" }).state !== "granted") return;
  try {
    // One byte stands for "none" also where dumps are piped into a program.
    new Deno.Command("prlimit", {
      args: ["--pid", `${Deno.pid}`, "--core=1:"],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).outputSync();
  } catch {
    // Not installed: whoever wants dumps gets one more.
  }
}
