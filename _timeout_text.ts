// Copyright 2026 the @proc/group authors. MIT license.

/** What the timeout command says, and how it is written. */

/** Text of `timeout --help`. */
export const HELP = `Usage: timeout [OPTION]... DURATION COMMAND [ARG]...
       timeout --help | --version
Run COMMAND, stop it and all that it started if it takes longer than DURATION,
and leave nothing of it behind in any case.

      --contain            COMMAND and all that it starts run in a PID namespace,
                             which nobody leaves (Linux, unshare); this program
                             fails where that is forbidden; -s is TERM, INT or
                             KILL, and a COMMAND that a signal ended has 128 + n
  -f, --foreground         no session of its own for COMMAND: it may read the
                             terminal and gets Ctrl-C from it; what COMMAND
                             starts is not stopped then
  -k, --kill-after=DURATION
                           time from the first signal to SIGKILL, 5 seconds
                             unless given; 0 means that SIGKILL is never sent
      --keep-leftovers     what still runs when COMMAND has ended in time is
                             not stopped
  -p, --preserve-status    exit with COMMAND's status even if it timed out
      --pty                COMMAND gets a terminal of its own, connected with
                             standard input and output (Linux, --allow-ffi)
  -s, --signal=SIGNAL      first signal, by name or number; TERM unless given
  -v, --verbose            say on stderr which signals are sent, and what was
                             left behind
      --help               print this text and exit
      --version            print the version and exit

DURATION is a number such as 10, 1.5 or 1e3 with an optional suffix: ms, s (the
default), m, h or d. 0 means no time limit. Options end at DURATION; all that
follows COMMAND belongs to COMMAND.

INT, TERM, HUP and QUIT are passed on to COMMAND and what it started. With -k,
SIGKILL follows after that time; a second one of the same kind, half a second
later or more, is SIGKILL at once. If this program runs in the background of a
terminal, COMMAND does not read from it.

Exit status:
  124  COMMAND timed out, and -p was not given
  125  this program failed
  126  COMMAND was found and cannot be run
  127  COMMAND was not found
  137  COMMAND timed out and was ended by SIGKILL
  else the status of COMMAND. If a signal ended COMMAND in time, the same signal
  ends this program.
`;

const ESCAPES: Readonly<Record<string, string>> = {
  "\x07": "a",
  "\b": "b",
  "\t": "t",
  "\n": "n",
  "\v": "v",
  "\f": "f",
  "\r": "r",
};

/**
 * Puts quotation marks around a text, those of the locale, and escapes what
 * would break the line or the terminal, so that a message stays one line.
 */
export function quote(text: string, curly: boolean = isUtf8Locale()): string {
  const [open, close] = curly ? ["‘", "’"] : ["'", "'"];
  const hidden = curly ? /\p{Cc}|[\\’]/gu : /\p{Cc}|[\\']|\P{ASCII}/gu;
  const inner = text.replace(hidden, (char) => {
    if (char === "\\" || char === close) return `\\${char}`;
    const letter = ESCAPES[char];
    return letter === undefined ? octal(char) : `\\${letter}`;
  });
  return open + inner + close;
}

/** Writes one line of the program's own to stderr. */
export function complain(message: string): void {
  try {
    write(Deno.stderr, `timeout: ${message}\n`);
  } catch {
    // Whoever closed stderr does not want to know, and the work goes on.
  }
}

/** Writes all of a text, at once and synchronously. */
export function write(
  stream: { writeSync(bytes: Uint8Array): number },
  text: string,
): void {
  const bytes = new TextEncoder().encode(text);
  for (let done = 0; done < bytes.length;) {
    done += stream.writeSync(bytes.subarray(done));
  }
}

function octal(char: string): string {
  const bytes = new TextEncoder().encode(char);
  const digits = Array.from(bytes, (b) => b.toString(8).padStart(3, "0"));
  return digits.map((three) => `\\${three}`).join("");
}

/** Whether the locale's characters are UTF-8; false where it may not be read. */
function isUtf8Locale(): boolean {
  for (const variable of ["LC_ALL", "LC_CTYPE", "LANG"]) {
    const { state } = Deno.permissions.querySync({ name: "env", variable });
    const value = state === "granted" ? Deno.env.get(variable) : "";
    if (value) return /utf-?8/i.test(value);
  }
  return false;
}
