// Copyright 2026 the @proc/group authors. MIT license.

/**
 * Containment: whether this system lets a command run in a PID namespace of
 * its own, and what is started then in the command's place.
 */

import { initScript, outerScript } from "./contain_script.ts";
import type { SpawnRequest } from "./platform.ts";

/** Where a POSIX shell is. */
const SHELL_PATHS = ["/bin/sh", "/usr/bin/sh"];

/** Where unshare(1) is, on NixOS too. */
const UNSHARE_PATHS = [
  "/usr/bin/unshare",
  "/bin/unshare",
  "/usr/local/bin/unshare",
  "/run/current-system/sw/bin/unshare",
];

/**
 * Options that depend on the user, the preferred ones first: root needs no user
 * namespace, and setuid programs go on to work without one.
 */
const USER_OPTIONS = ["", "--user --map-current-user"];

/**
 * Prints the path of the program `$1`, with a point so that no newline of it is
 * lost; fails with 126 if it may not be run and with 127 if there is none.
 */
const LOCATE = `
case $1 in
*/*)
  [ -e "$1" ] || exit 127
  [ -f "$1" ] && [ -x "$1" ] || exit 126
  printf %s. "$1" && exit ;;
*)
  set -f
  IFS=:
  for dir in $PATH; do
    [ -f "\${dir:-.}/$1" ] && [ -x "\${dir:-.}/$1" ] || continue
    printf %s. "\${dir:-.}/$1" && exit
  done
  exit 127 ;;
esac`;

/** How namespaces can be made here. */
interface Unshare {
  /** Path of the shell that leads the group, and of the one that is the init. */
  readonly sh: string;
  readonly path: string;
  readonly options: string;
}

/** What is started in the place of a command. */
export interface ContainedCommand {
  /** Path of a shell. */
  readonly command: string;
  readonly args: readonly string[];
}

type User = Pick<SpawnRequest, "uid" | "gid">;

/** By user, what was found to work. A refusal may end, so it is not kept. */
const known = new Map<string, Unshare>();

/**
 * What runs a program in namespaces of its own. Finds out whether that can be
 * had, once for each user.
 *
 * @param program Path of the program, with a slash in it.
 * @throws {Deno.errors.NotSupported} If it cannot be had; says why.
 * @throws {Deno.errors.NotCapable} If `sh` or `unshare` may not be run.
 */
export function containedCommand(
  program: string,
  { args, uid, gid }: Pick<SpawnRequest, "args" | "uid" | "gid">,
): ContainedCommand {
  const { sh, path, options } = findUnshare({ uid, gid });
  const scripts = ["-c", outerScript, "proc-group"];
  return {
    command: sh,
    args: [...scripts, path, sh, initScript, options, program, ...args],
  };
}

/** How to make namespaces; throws as {@linkcode containedCommand} does. */
export function findUnshare(
  user: User,
  options: { ask: boolean } = { ask: true },
): Unshare {
  if (Deno.build.os !== "linux") {
    throw refusal(`there are no PID namespaces on ${Deno.build.os}`);
  }
  const key = `${user.uid ?? ""}:${user.gid ?? ""}`;
  const last = known.get(key);
  // A permission may have been revoked since.
  const isAllowed = last && mayRun(last.sh) && mayRun(last.path);
  const found = isAllowed ? last : probe(user, options.ask);
  known.set(key, found);
  return found;
}

/** A request for a shell that runs the requested program contained. */
export function containThroughShell(request: SpawnRequest): SpawnRequest {
  return { ...request, ...containedCommand(locate(request), request) };
}

/**
 * Finds a program by a shell, which may look at files where Deno may not, since
 * a contained program that is missing would not be noticed before it is run.
 */
function locate({ command, ...request }: SpawnRequest): string {
  const [sh = ""] = SHELL_PATHS;
  const { code, stdout } = runSync(sh, {
    args: ["-c", LOCATE, "sh", command],
    ...(request.cwd === undefined ? {} : { cwd: request.cwd }),
    ...userOf(request),
    clearEnv: request.clearEnv,
    env: { ...request.env },
  });
  if (code === 0) return stdout.slice(0, -1);
  throw code === 126
    ? new Deno.errors.PermissionDenied(
      `Failed to spawn '${command}': Permission denied`,
    )
    : new Deno.errors.NotFound(
      `Failed to spawn '${command}': entity not found`,
    );
}

/** Makes namespaces for a moment. */
function probe(user: User, ask: boolean): Unshare {
  const [sh = ""] = allowedPaths("sh", SHELL_PATHS, ask);
  for (const path of allowedPaths("unshare", UNSHARE_PATHS, ask)) {
    let reason: string | null = null;
    for (const options of USER_OPTIONS) {
      const unshare = { sh, path, options };
      reason = tryUnshare(unshare, user);
      if (reason === "") return unshare;
      if (reason === null) break;
    }
    // Another copy of the program would be refused for the same reason.
    if (reason !== null) throw refusal(explain(reason));
  }
  throw refusal("there is no program 'unshare', which util-linux provides");
}

/**
 * Those of the paths that may be run, whether they exist or not. A permission
 * for a name is one for the path that Deno has found in PATH.
 */
function allowedPaths(
  name: string,
  paths: readonly string[],
  ask: boolean,
): string[] {
  const descriptor = { name: "run", command: name } as const;
  let allowed = paths.filter(mayRun);
  if (allowed.length > 0) return allowed;
  const { state } = ask
    ? Deno.permissions.requestSync(descriptor)
    : Deno.permissions.querySync(descriptor);
  if (state === "granted") {
    allowed = paths.filter(mayRun);
    return allowed.length > 0 ? allowed : [name];
  }
  throw new Deno.errors.NotCapable(
    `Requires run access to "${name}" to contain a process group, run again with the --allow-run flag`,
  );
}

function mayRun(command: string): boolean {
  return Deno.permissions.querySync({ name: "run", command }).state ===
    "granted";
}

/** What it complains about; empty if it works, null if it cannot be run. */
function tryUnshare(
  { sh, path, options }: Unshare,
  user: User,
): string | null {
  const own = options === "" ? [] : options.split(" ");
  try {
    const { code, stderr } = runSync(path, {
      args: [...own, "--pid", "--fork", "--mount-proc", sh, "-c", ":"],
      ...userOf(user),
      // Messages are compared below. Above all no variable of a loader is left.
      clearEnv: true,
      env: { LC_ALL: "C" },
    });
    return code === 0 ? "" : stderr.trim() || `exit status ${code}`;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    // A file that may not be executed is none, unless it is about the user.
    const { length } = Object.keys(userOf(user));
    const denied = error instanceof Deno.errors.PermissionDenied;
    if (denied && length === 0) return null;
    throw error;
  }
}

function userOf({ uid, gid }: User): { uid?: number; gid?: number } {
  return {
    ...(uid === undefined ? {} : { uid }),
    ...(gid === undefined ? {} : { gid }),
  };
}

function runSync(
  command: string,
  options: Deno.CommandOptions,
): { code: number; stdout: string; stderr: string } {
  const { code, stdout, stderr } = new Deno.Command(command, {
    ...options,
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).outputSync();
  const decoder = new TextDecoder();
  return {
    code,
    stdout: decoder.decode(stdout),
    stderr: decoder.decode(stderr),
  };
}

/** Names the cause, and what the program said. */
function explain(message: string): string {
  const [line = ""] = message.split("\n");
  const said = `(${line})`;
  if (/(unrecognized|invalid|unknown|illegal) option/i.test(message)) {
    return `the program 'unshare' is too old and lacks an option ${said}`;
  }
  if (/mount.*\/proc/.test(message)) {
    return `mounting /proc is refused, as containers often do ${said}`;
  }
  if (/No space left/.test(message)) {
    return `the limit of user or PID namespaces is reached ${said}`;
  }
  return `user namespaces are forbidden ${said}`;
}

function refusal(cause: string): Error {
  return new Deno.errors.NotSupported(
    `Cannot contain a process group: ${cause}`,
  );
}
