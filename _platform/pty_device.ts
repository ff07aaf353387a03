// Copyright 2026 the @proc/group authors. MIT license.

/** Pseudo-terminals of Linux, pty(7), and their settings, termios(3). */

import { Backoff } from "./backoff.ts";
import { C } from "./constants.ts";
import { callError, check, Errno, systemError } from "./errno.ts";
import { errno, libc } from "./libc.ts";
import type { Direction, ReactorGroup, Watch } from "./reactor.ts";

/** Constants of <asm-generic/termbits.h> and <asm-generic/ioctls.h>. */
const TTY = {
  // ioctl_tty(2)
  TIOCGWINSZ: 0x5413,
  TIOCSWINSZ: 0x5414,
  // ioctl_tty(2), also TIOCINQ
  FIONREAD: 0x541b,
  // termios(3): c_iflag, c_lflag
  ICRNL: 0o400,
  IUTF8: 0o40000,
  ICANON: 0o2,
  ECHO: 0o10,
  // termios(3): tcsetattr, when
  TCSANOW: 0,
  TCSADRAIN: 1,
  // termios(3): indices of c_cc
  VINTR: 0,
  VQUIT: 1,
  VERASE: 2,
  VKILL: 3,
  VEOF: 4,
  VSUSP: 10,
  VEOL: 11,
  VEOL2: 16,
} as const;

/** Offsets in `struct termios`, the same in every C library of Linux. */
const TERMIOS = { iflag: 0, lflag: 12, cc: 17, size: 64 } as const;

/** A terminal's size in characters. */
export interface Size {
  columns: number;
  rows: number;
}

/** What matters here of a terminal's settings. */
export interface TerminalModes {
  /** Whether what is typed is shown. */
  readonly echo: boolean;
  /** Whether what is typed is handed over line by line. */
  readonly canonical: boolean;
  /** The character that erases the last one; undefined if there is none. */
  readonly erase: number | undefined;
  /** The character that means end of file; undefined if there is none. */
  readonly eof: number | undefined;
  /** For each character, 1 if it ends a line or discards it. */
  readonly lineEnds: Uint8Array;
}

/** The settings of a terminal, to be given back to it later. */
export type SavedModes = Uint8Array<ArrayBuffer>;

/** Where a number of bytes is told, for one call at a time. */
const COUNT = new Int32Array(1);

/** The size of the terminal behind a descriptor; null if it is none. */
export function terminalSize(fd: number): Size | null {
  const winsize = new Uint16Array(4);
  if (libc().ioctl(fd, TTY.TIOCGWINSZ, winsize) === -1) return null;
  return { rows: winsize[0]!, columns: winsize[1]! };
}

/** The settings of the terminal behind a descriptor; null if it is none. */
export function saveModes(fd: number): SavedModes | null {
  const termios = new Uint8Array(TERMIOS.size);
  return libc().tcgetattr(fd, termios) === -1 ? null : termios;
}

/** Hands every key over as it is typed, given the terminal's settings so far. */
export function makeRaw(fd: number, modes: SavedModes): void {
  const raw = modes.slice();
  libc().cfmakeraw(raw);
  check("tcsetattr", libc().tcsetattr(fd, TTY.TCSADRAIN, raw));
}

/** Gives a terminal its settings back; what it has not shown yet comes first. */
export function restoreModes(fd: number, modes: SavedModes): void {
  libc().tcsetattr(fd, TTY.TCSADRAIN, modes);
}

/** What the two directions of a terminal's stream need of it. */
export interface PtyPort {
  read(): Uint8Array<ArrayBuffer> | "again" | "end";
  write(bytes: Uint8Array): number;
  /** Waits once until it may be read or written again. */
  watch(direction: Direction): Watch;
  /**
   * Looks for output so many milliseconds long, and holds everything else up.
   * False, too, if it took much longer because others had the core.
   */
  lookFor(ms: number): boolean;
  modes(): TerminalModes | null;
  /** How many typed bytes the program could read at this moment. */
  unreadBytes(): number;
  closeSlave(): void;
  close(): void;
}

/**
 * How many bytes are read or written in one go at most. The kernel gives a page
 * at a time, and whatever happens in between costs a fast program's terminal
 * more than the page does.
 */
const TRANSFER_BYTES = 256 * 1024;

/** After so many bytes in one go more is likely to follow at once. */
const MUCH_BYTES = 4096;

/**
 * How long it takes a thread of the kernel at most to bring the next page, in
 * milliseconds. A read that comes before would sleep until then, and to put two
 * cores to sleep and wake them costs more time than the page does.
 */
const PAGE_MS = 0.05;

/** How much longer a look may take, in milliseconds. */
const LATE_MS = 1;

/** After how long others get their turn while a program prints, in milliseconds. */
const TURN_MS = 4;

/**
 * A pseudo-terminal: the master, and the slave that is held open so that the
 * master does not report an end before the program has ended.
 */
export class PtyDevice implements PtyPort {
  /** Path of the slave. */
  readonly path: string;
  readonly master: number;
  readonly #reactor: ReactorGroup;
  #slave: number;
  #size: Size;
  #isOpen = true;
  readonly #pages = new Backoff();
  /** Shared by all reads: what was read is copied before the next one. */
  static #scratch: Uint8Array<ArrayBuffer> | null = null;

  constructor(reactor: ReactorGroup, size: Size, echo: boolean) {
    this.#reactor = reactor;
    const { O_RDWR, O_NOCTTY, O_CLOEXEC, O_NONBLOCK } = C;
    const flags = O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK;
    this.master = check("posix_openpt", libc().posix_openpt(flags));
    this.#slave = -1;
    this.#size = size;
    try {
      this.path = unlock(this.master);
      const path = new TextEncoder().encode(this.path + "\0");
      const slaveFlags = O_RDWR | O_NOCTTY | O_CLOEXEC;
      this.#slave = check("open", libc().open(path, slaveFlags, 0));
      this.#setModes(echo);
      this.#setSize(size);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /** The size, or the last one once the terminal is closed. */
  get size(): Size {
    if (this.#isOpen) this.#size = terminalSize(this.master) ?? this.#size;
    return { ...this.#size };
  }

  /** Changes the size; the foreground processes get a SIGWINCH. */
  resize(size: Size): void {
    if (this.#isOpen) this.#setSize(size);
  }

  /** The settings at this moment; null once the terminal is closed. */
  modes(): TerminalModes | null {
    const termios = this.#isOpen ? saveModes(this.master) : null;
    return termios && parseModes(termios);
  }

  unreadBytes(): number {
    if (this.#slave === -1) return 0;
    return check("ioctl", unreadBytes(this.#slave));
  }

  /**
   * Reads what is there, without waiting. The bytes are good until the next
   * read. "again" says that there is nothing now, "end" that there never will.
   */
  read(): Uint8Array<ArrayBuffer> | "again" | "end" {
    if (!this.#isOpen) return "end";
    const scratch = PtyDevice.#scratch ??= new Uint8Array(TRANSFER_BYTES);
    let length = 0;
    const endAt = performance.now() + TURN_MS;
    while (length < scratch.length) {
      const rest = scratch.subarray(length);
      const count = libc().read(this.master, rest, rest.length);
      if (count > 0) {
        length += count;
        if (length < MUCH_BYTES) continue;
        if (performance.now() >= endAt) break;
        if (this.#pages.isDue()) this.#pages.record(this.lookFor(PAGE_MS));
        continue;
      }
      const number = count === 0 ? Errno.EIO : errno();
      if (number === Errno.EINTR) continue;
      // What was read comes first; the next read gives the same result again.
      if (length > 0) break;
      if (number === Errno.EAGAIN) return "again";
      if (number === Errno.EIO) return "end";
      throw callError("read", number);
    }
    return scratch.subarray(0, length);
  }

  /** Looks again and again, and lets others run on this core in between. */
  lookFor(ms: number): boolean {
    const endAt = performance.now() + ms;
    while (this.#isOpen) {
      const count = unreadBytes(this.master);
      if (count !== 0) return count > 0 && performance.now() < endAt + LATE_MS;
      if (performance.now() >= endAt) break;
      libc().sched_yield();
    }
    return false;
  }

  /** Types what the kernel takes, without waiting; returns how many bytes. */
  write(bytes: Uint8Array): number {
    // The descriptor's number may be another file's by now.
    if (!this.#isOpen) throw systemError(Errno.EPIPE, "Broken pipe");
    for (;;) {
      const part = bytes.subarray(0, TRANSFER_BYTES);
      const count = libc().write(this.master, part, part.length);
      if (count >= 0) return count;
      const number = errno();
      if (number === Errno.EAGAIN) return 0;
      // Nobody has the terminal open any more.
      if (number === Errno.EIO) throw systemError(Errno.EPIPE, "Broken pipe");
      if (number !== Errno.EINTR) throw callError("write", number);
    }
  }

  watch(direction: Direction): Watch {
    return this.#reactor.watch(this.master, direction);
  }

  /** Lets the slave go: the master ends when nobody else has it open. */
  closeSlave(): void {
    if (this.#slave !== -1) libc().close(this.#slave);
    this.#slave = -1;
  }

  /** Closes both sides; the processes on the terminal are hung up. Idempotent. */
  close(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.closeSlave();
    libc().close(this.master);
  }

  #setSize({ columns, rows }: Size): void {
    const winsize = new Uint16Array([rows, columns, 0, 0]);
    const result = libc().ioctl(this.master, TTY.TIOCSWINSZ, winsize);
    check("ioctl", result);
  }

  /** Characters are UTF-8, so that erasing one erases all of its bytes. */
  #setModes(echo: boolean): void {
    const termios = new Uint8Array(TERMIOS.size);
    check("tcgetattr", libc().tcgetattr(this.#slave, termios));
    const view = new DataView(termios.buffer);
    const iflag = view.getUint32(TERMIOS.iflag, true) | TTY.IUTF8;
    view.setUint32(TERMIOS.iflag, iflag, true);
    const lflag = view.getUint32(TERMIOS.lflag, true);
    const wanted = echo ? lflag | TTY.ECHO : lflag & ~TTY.ECHO;
    view.setUint32(TERMIOS.lflag, wanted, true);
    check("tcsetattr", libc().tcsetattr(this.#slave, TTY.TCSANOW, termios));
  }
}

/** How many bytes a read would give at this moment; -1 with the error number set. */
function unreadBytes(fd: number): number {
  return libc().ioctl(fd, TTY.FIONREAD, COUNT) === -1 ? -1 : COUNT[0]!;
}

/** Lets the slave be opened and gives its path. */
function unlock(master: number): string {
  check("grantpt", libc().grantpt(master));
  check("unlockpt", libc().unlockpt(master));
  const name = new Uint8Array(64);
  const number = libc().ptsname_r(master, name, name.length);
  if (number !== 0) throw callError("ptsname_r", number);
  return new TextDecoder().decode(name.subarray(0, name.indexOf(0)));
}

function parseModes(termios: SavedModes): TerminalModes {
  const view = new DataView(termios.buffer);
  const lflag = view.getUint32(TERMIOS.lflag, true);
  const iflag = view.getUint32(TERMIOS.iflag, true);
  const character = (index: number) => {
    // A NUL means that the function is switched off.
    const value = termios[TERMIOS.cc + index];
    return value === 0 ? undefined : value;
  };
  const { VINTR, VQUIT, VERASE, VKILL, VEOF, VSUSP, VEOL, VEOL2 } = TTY;
  const special = [VINTR, VQUIT, VKILL, VEOF, VSUSP, VEOL, VEOL2]
    .map(character).filter((value) => value !== undefined);
  const lineEnds = new Uint8Array(256);
  const returns = (iflag & TTY.ICRNL) === 0 ? [] : [13];
  for (const value of [10, ...returns, ...special]) lineEnds[value] = 1;
  return {
    echo: (lflag & TTY.ECHO) !== 0,
    canonical: (lflag & TTY.ICANON) !== 0,
    erase: character(VERASE),
    eof: character(VEOF),
    lineEnds,
  };
}
