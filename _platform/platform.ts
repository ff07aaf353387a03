// Copyright 2026 the @proc/group authors. MIT license.

/**
 * The seam between the public functions and the operating system: the types
 * that both implementations (portable and linux) share.
 */

import type { ReactorGroup } from "./reactor.ts";

/** One process, as {@linkcode listGroup} and {@linkcode StopReport} show it. */
export interface ProcessInfo {
  /** Process id. */
  readonly pid: number;
  /** Id of the parent process; 0 where it is not known. */
  readonly ppid: number;
  /** Id of the process group. */
  readonly pgid: number;
  /** Id of the session; 0 where it is not known (macOS). */
  readonly sid: number;
  /** State as one letter, as `ps` prints it: `R`, `S`, `D`, `T`, `Z`, ... */
  readonly state: string;
  /** Name of the command, at most 15 bytes of it on Linux. */
  readonly command: string;
  /**
   * Start time in clock ticks of 1/100 second since boot; together with the
   * pid it identifies a process. 0 where it is not known.
   */
  readonly startTime: number;
}

/** How members were found: in procfs, through `ps`, or with signal 0. */
export type MemberSource = "procfs" | "ps" | "signal0";

/** How escapees were looked for: by their environment, or not at all. */
export type EscapeeSource = "environ" | "none";

/** What a signal did: accepted by the kernel, nobody there, or not allowed. */
export type SignalResult = "sent" | "gone" | "denied";

/** What a scan must find out. Requests that meet share one scan. */
export interface ScanQuery {
  /** Whether environment marks are needed as well. */
  readonly marks: boolean;
  /**
   * Processes that started before this time (clock ticks since boot) need
   * neither be shown nor looked at for marks: nobody is older than the group
   * that he belongs to.
   */
  readonly since: number;
  /**
   * Sessions that are known to be the asking group's: who is in one needs no
   * mark to be told.
   */
  readonly sessions?: readonly number[];
}

/** All processes of the machine at one moment. */
export interface Snapshot {
  /**
   * Every process, zombies included, that did not start before the time asked
   * for; besides this process and its ancestors, and others maybe.
   */
  readonly processes: readonly ProcessInfo[];
  /**
   * Whether a process that was there from begin to end, or a descendant of one,
   * cannot have been overlooked, as when one forks and exits during the scan.
   */
  readonly complete?: boolean;
  /** By pid, the numbers of this module instance's groups whose mark it carries. */
  readonly marks: ReadonlyMap<number, readonly number[]>;
  /** How the processes were found. */
  readonly members: MemberSource;
  /** How the marks were found. */
  readonly escapees: EscapeeSource;
  /**
   * True when there were no descriptors or processes left to look with. That
   * nobody was seen proves nothing then, and a later look may find somebody.
   */
  readonly failed?: boolean;
}

/** What to start; checked already, except for what only the system can tell. */
export interface SpawnRequest {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  readonly clearEnv: boolean;
  /** The caller's variables, without marks: the platform adds these. */
  readonly env: Readonly<Record<string, string>>;
  readonly uid: number | undefined;
  readonly gid: number | undefined;
  readonly stdin: "piped" | "inherit" | "null";
  readonly stdout: "piped" | "inherit" | "null";
  readonly stderr: "piped" | "inherit" | "null";
  /** Number of the group, unique in this module instance; names its mark. */
  readonly group: number;
  /** True when the group is to outlive this process: no parent's mark, no guard. */
  readonly outlive: boolean;
  /** True when it is to run in a PID namespace of its own, or not at all. */
  readonly contain?: boolean;
  /** Takes the place of the standard streams; only where there is libc. */
  readonly terminal?: Terminal;
}

/** A terminal that becomes the controlling one of the command's session. */
export interface Terminal {
  /** Path of the slave. */
  readonly path: string;
  /** Waits for the terminal and for the command's exit. */
  readonly reactor: ReactorGroup;
}

/** A started command that leads a session and a process group of its own. */
export interface Leader {
  /** Its pid, which is its pgid and its sid as well. */
  readonly pid: number;
  /** Start time as in {@linkcode ProcessInfo}; 0 where it is not known. */
  readonly startTime: number;
  /**
   * Whether a guard ends the group should this process die; once the group is
   * over, whether one would have.
   */
  isGuarded(): boolean;
  /** Null unless piped. */
  readonly stdin: WritableStream<Uint8Array<ArrayBufferLike>> | null;
  /** Null unless piped. */
  readonly stdout: Deno.SubprocessReadableStream | null;
  /** Null unless piped. */
  readonly stderr: Deno.SubprocessReadableStream | null;
  /** Resolves once the leader was reaped; never rejects. */
  readonly status: Promise<Deno.CommandStatus>;
  /** One signal to the leader's process group. Signal 0 only asks. */
  signalGroup(signal: Deno.Signal | number): SignalResult;
  /**
   * Whether what a snapshot shows under the leader's number is still this
   * group, and not a stranger who was given the number afterwards.
   */
  owns(snapshot: Snapshot, group: number): boolean;
  /** Keeps the event loop alive until the leader's exit, as `ChildProcess.ref`. */
  ref(): void;
  /** Lets the event loop end before the leader's exit. */
  unref(): void;
  /**
   * The group was seen empty, or is to be forgotten: lets go of descriptors
   * and stands the guard down. Idempotent.
   */
  release(): Promise<void>;
}

/** What differs by operating system and permission. */
export interface Platform {
  /** Name of the implementation. */
  readonly name: "portable" | "linux";
  /**
   * Whether a group is told from a stranger with its number at any time. Where
   * not, a group is looked at as soon as its leader has exited.
   */
  readonly holdsIdentity: boolean;
  /**
   * Id of the process group that this process is in, to refuse to signal it;
   * 0 where that cannot be found out.
   */
  ownGroup(): number;
  /** Starts a command synchronously. Throws what `Deno.Command` throws. */
  spawn(request: SpawnRequest): Leader;
  /**
   * One signal to a process group other than a leader's, given the members
   * of it that a snapshot showed.
   */
  signalGroup(
    members: readonly ProcessInfo[],
    signal: Deno.Signal | number,
  ): SignalResult;
  /**
   * One signal to one process, never to another with the same pid. Signal 0
   * asks whether it may be signalled at all, and may skip that check.
   */
  signalProcess(
    process: ProcessInfo,
    signal: Deno.Signal | number,
  ): SignalResult;
  /** Looks at all processes. One scan is in flight at a time. */
  scan(query: ScanQuery): Promise<Snapshot>;
  /**
   * Resolves when all of these processes have ended, after `ms` milliseconds,
   * when `signal` aborts, or earlier where only a new scan can tell. `round`
   * counts the calls of one wait and lets polling back off.
   */
  ended(
    processes: readonly ProcessInfo[],
    options: { ms: number; round: number; signal: AbortSignal },
  ): Promise<void>;
}
