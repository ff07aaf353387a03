// Copyright 2026 the @proc/group authors. MIT license.

/**
 * The C library, through FFI. Nothing is opened before the first use.
 *
 * The library is opened once to look every symbol up, and closed at once:
 * Deno itself keeps it mapped for its whole life, so the addresses stay good,
 * and a function pointer is no resource that a test's sanitizer would miss.
 *
 * Sizes and variable arguments are declared 32 bits wide, since a 64-bit one
 * is a bigint in JavaScript: the call extends them to whole registers.
 */

/** Functions of the C library, with the C prototype behind each. */
const SYMBOLS = {
  // int *__errno_location(void)
  __errno_location: { parameters: [], result: "pointer" },
  // char *strerror(int errnum)
  strerror: { parameters: ["i32"], result: "pointer" },
  // int memcmp(const void *s1, const void *s2, size_t n)
  memcmp: { parameters: ["buffer", "buffer", "u32"], result: "i32" },
  // ssize_t process_vm_readv(pid_t pid, const struct iovec *local_iov,
  //                          unsigned long liovcnt,
  //                          const struct iovec *remote_iov,
  //                          unsigned long riovcnt, unsigned long flags)
  process_vm_readv: {
    parameters: ["i32", "buffer", "u32", "buffer", "u32", "u32"],
    result: "i32",
  },
  // long syscall(long number, ...)
  syscall: {
    parameters: ["i32", "i32", "i32", "pointer", "i32"],
    result: "i32",
  },

  // int open(const char *pathname, int flags, mode_t mode)
  open: { parameters: ["buffer", "i32", "u32"], result: "i32" },
  // ssize_t read(int fd, void *buf, size_t count)
  read: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  // ssize_t write(int fd, const void *buf, size_t count)
  write: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  // int close(int fd)
  close: { parameters: ["i32"], result: "i32" },
  // int pipe2(int pipefd[2], int flags)
  pipe2: { parameters: ["buffer", "i32"], result: "i32" },
  // int fcntl(int fd, int op, int arg)
  fcntl: { parameters: ["i32", "i32", "i32"], result: "i32" },
  // ssize_t getdents64(int fd, void *dirp, size_t count)
  getdents64: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  // int statx(int dirfd, const char *pathname, int flags, unsigned int mask,
  //           struct statx *statxbuf)
  statx: {
    parameters: ["i32", "buffer", "i32", "u32", "buffer"],
    result: "i32",
  },
  // int faccessat(int dirfd, const char *pathname, int mode, int flags)
  faccessat: { parameters: ["i32", "buffer", "i32", "i32"], result: "i32" },
  faccessat_pointer: {
    name: "faccessat",
    parameters: ["i32", "pointer", "i32", "i32"],
    result: "i32",
  },
  // char *getcwd(char *buf, size_t size)
  getcwd: { parameters: ["buffer", "u32"], result: "pointer" },

  // int epoll_create1(int flags)
  epoll_create1: { parameters: ["i32"], result: "i32" },
  // int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
  epoll_ctl: { parameters: ["i32", "i32", "i32", "buffer"], result: "i32" },
  // int epoll_wait(int epfd, struct epoll_event *events, int maxevents,
  //                int timeout)
  epoll_wait: { parameters: ["i32", "buffer", "i32", "i32"], result: "i32" },
  // int epoll_pwait(int epfd, struct epoll_event *events, int maxevents,
  //                 int timeout, const sigset_t *sigmask)
  // On a thread of its own while it blocks.
  epoll_pwait_blocking: {
    name: "epoll_pwait",
    parameters: ["i32", "buffer", "i32", "i32", "buffer"],
    result: "i32",
    nonblocking: true,
  },
  // int eventfd(unsigned int initval, int flags)
  eventfd: { parameters: ["u32", "i32"], result: "i32" },
  // int poll(struct pollfd *fds, nfds_t nfds, int timeout)
  poll: { parameters: ["buffer", "u32", "i32"], result: "i32" },

  // int posix_spawn(pid_t *pid, const char *path,
  //                 const posix_spawn_file_actions_t *file_actions,
  //                 const posix_spawnattr_t *attrp,
  //                 char *const argv[], char *const envp[])
  posix_spawn: {
    parameters: ["buffer", "buffer", "buffer", "buffer", "buffer", "buffer"],
    result: "i32",
  },
  // int posix_spawnattr_init(posix_spawnattr_t *attr)
  posix_spawnattr_init: { parameters: ["buffer"], result: "i32" },
  // int posix_spawnattr_setflags(posix_spawnattr_t *attr, short flags)
  posix_spawnattr_setflags: { parameters: ["buffer", "i16"], result: "i32" },
  // int posix_spawnattr_setsigdefault(posix_spawnattr_t *attr,
  //                                   const sigset_t *sigdefault)
  posix_spawnattr_setsigdefault: {
    parameters: ["buffer", "buffer"],
    result: "i32",
  },
  // int posix_spawnattr_setsigmask(posix_spawnattr_t *attr,
  //                                const sigset_t *sigmask)
  posix_spawnattr_setsigmask: {
    parameters: ["buffer", "buffer"],
    result: "i32",
  },
  // int posix_spawn_file_actions_init(posix_spawn_file_actions_t *actions)
  posix_spawn_file_actions_init: { parameters: ["buffer"], result: "i32" },
  // int posix_spawn_file_actions_destroy(posix_spawn_file_actions_t *actions)
  posix_spawn_file_actions_destroy: { parameters: ["buffer"], result: "i32" },
  // int posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *actions,
  //                                      int fildes, int newfildes)
  posix_spawn_file_actions_adddup2: {
    parameters: ["buffer", "i32", "i32"],
    result: "i32",
  },
  // int posix_spawn_file_actions_addopen(posix_spawn_file_actions_t *actions,
  //                                      int fildes, const char *path,
  //                                      int oflag, mode_t mode)
  posix_spawn_file_actions_addopen: {
    parameters: ["buffer", "i32", "buffer", "i32", "u32"],
    result: "i32",
  },
  // int posix_spawn_file_actions_addchdir_np(
  //   posix_spawn_file_actions_t *actions, const char *path)
  posix_spawn_file_actions_addchdir_np: {
    parameters: ["buffer", "buffer"],
    result: "i32",
  },

  // pid_t getpgid(pid_t pid)
  getpgid: { parameters: ["i32"], result: "i32" },
  // sighandler_t signal(int signum, sighandler_t handler)
  signal: { parameters: ["i32", "pointer"], result: "pointer" },
  // int kill(pid_t pid, int sig)
  kill: { parameters: ["i32", "i32"], result: "i32" },
  // int waitid(idtype_t idtype, id_t id, siginfo_t *infop, int options)
  waitid: { parameters: ["i32", "u32", "buffer", "i32"], result: "i32" },
  // int sched_yield(void)
  sched_yield: { parameters: [], result: "i32" },
  // int clock_gettime(clockid_t clockid, struct timespec *tp)
  clock_gettime: { parameters: ["i32", "buffer"], result: "i32" },

  // int ioctl(int fd, unsigned long op, void *argp)
  ioctl: { parameters: ["i32", "u32", "buffer"], result: "i32" },
  // int posix_openpt(int flags)
  posix_openpt: { parameters: ["i32"], result: "i32" },
  // int grantpt(int fd)
  grantpt: { parameters: ["i32"], result: "i32" },
  // int unlockpt(int fd)
  unlockpt: { parameters: ["i32"], result: "i32" },
  // int ptsname_r(int fd, char *buf, size_t size)
  ptsname_r: { parameters: ["i32", "buffer", "u32"], result: "i32" },
  // int tcgetattr(int fd, struct termios *termios_p)
  tcgetattr: { parameters: ["i32", "buffer"], result: "i32" },
  // void cfmakeraw(struct termios *termios_p)
  cfmakeraw: { parameters: ["buffer"], result: "void" },
  // int tcsetattr(int fd, int actions, const struct termios *termios_p)
  tcsetattr: { parameters: ["i32", "i32", "buffer"], result: "i32" },
} as const satisfies Record<
  string,
  Deno.ForeignFunction & { readonly name?: string }
>;

type Symbols = typeof SYMBOLS;

/** The functions of {@linkcode SYMBOLS}, and the environment. */
export type Libc =
  & {
    readonly [Name in keyof Symbols]: Deno.UnsafeFnPointer<
      Symbols[Name]
    >["call"];
  }
  & {
    /** Address of `char **environ`, environ(7). */
    readonly environ: NonNullable<Deno.PointerValue>;
    /** This thread's errno(3); an isolate never moves to another thread. */
    readonly errnoView: Deno.UnsafePointerView;
  };

const encoder = new TextEncoder();

/** Undefined before the first use, null where there is no such library. */
let loaded: Libc | null | undefined;

/**
 * Whether this process may and can use the C library. The user is never
 * asked: the permission is granted already, or it counts as refused.
 */
export function libcAvailable(): boolean {
  if (loaded) return isCallable(loaded);
  const { os, arch } = Deno.build;
  if (os !== "linux" || (arch !== "x86_64" && arch !== "aarch64")) return false;
  if (Deno.permissions.querySync({ name: "ffi" }).state !== "granted") {
    return false;
  }
  return load() !== null;
}

/** A permission can be revoked. Reading tells that in a fraction of a query's time. */
function isCallable({ environ }: Libc): boolean {
  try {
    new Deno.UnsafePointerView(environ).getUint8();
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotCapable) return false;
    throw error;
  }
}

/** The C library. Only after {@linkcode libcAvailable} said yes. */
export function libc(): Libc {
  const symbols = load();
  if (symbols === null) {
    throw new Deno.errors.NotSupported("Cannot find the C library");
  }
  return symbols;
}

/** The text as a C string. */
export function cString(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text + "\0");
}

/** The address of a buffer, to be written into another one. */
export function addressOf(buffer: BufferSource): bigint {
  return Deno.UnsafePointer.value(Deno.UnsafePointer.of(buffer));
}

/**
 * The error number of the C function that was called just before. Nothing may
 * come in between: a garbage collection has left its own there, once in 600,000
 * times. So this makes nothing new, and calls nothing but the read.
 */
export function errno(): number {
  return libc().errnoView.getInt32();
}

function load(): Libc | null {
  if (loaded !== undefined) return loaded;
  try {
    loaded = lookUp();
  } catch {
    // Another C library than glibc, or one that is too old: the portable
    // implementation takes over.
    loaded = null;
  }
  return loaded;
}

function lookUp(): Libc {
  const library = Deno.dlopen("libc.so.6", {
    // void *dlsym(void *handle, const char *symbol)
    dlsym: { parameters: ["pointer", "buffer"], result: "pointer" },
  });
  try {
    const find = (name: string) => {
      const address = library.symbols.dlsym(null, cString(name));
      if (address === null) throw new Deno.errors.NotFound(name);
      return address;
    };
    const symbols: Record<string, unknown> = { environ: find("environ") };
    for (const [name, definition] of Object.entries(SYMBOLS)) {
      const address = find("name" in definition ? definition.name : name);
      const pointer = new Deno.UnsafeFnPointer<Deno.ForeignFunction>(
        address as Deno.PointerObject<Deno.ForeignFunction>,
        definition,
      );
      symbols[name] = pointer.call.bind(pointer);
    }
    const { __errno_location } = symbols as Libc;
    symbols.errnoView = new Deno.UnsafePointerView(__errno_location()!);
    return symbols as Libc;
  } finally {
    library.close();
  }
}
