"""The layers around a worker: limits, Landlock and a seccomp filter, each named once it holds.

Nothing here is needed for a right verdict: that rests on the judge being another process. The layers keep a submission
from reading other people's files, from the network, and from disturbing the machine. Everything is done with plain
system calls through ctypes, so no package and no privilege is needed. The system call numbers are those of the Linux
headers; the x86-64 column is tested, the aarch64 column is not.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import struct
import sys
import sysconfig
from pathlib import Path

FFNLIB = Path(__file__).resolve().parents[2]
REQUIRED = ("landlock", "seccomp")  # one of these has to hold, or the instructor has to trust the submissions

# ---------------------------------------------------------------- what every system offers


def limit_resources(memory: int, seconds: float) -> list[str]:
    """Limit what this process may use, `memory` in megabytes on top of what it has; return the layers that hold."""
    try:
        import resource
    except ImportError:  # Windows
        return []
    limits = {
        "RLIMIT_CPU": int(seconds) + 2,
        "RLIMIT_FSIZE": 0,
        "RLIMIT_CORE": 0,
        "RLIMIT_NOFILE": 64,
        "RLIMIT_AS": _address_space() + memory * 2**20,
    }
    for name, value in limits.items():
        try:
            resource.setrlimit(getattr(resource, name), (value, value))
        except (ValueError, OSError, AttributeError):
            return []
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a write then fails with an error instead of a death
    return ["rlimits"]


def _address_space() -> int:
    """Return the bytes of address space that are taken already."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (OSError, ValueError):
        return 2**30
    return pages * os.sysconf("SC_PAGE_SIZE")


def close_descriptors(*kept: int) -> None:
    """Close every descriptor but these, and put nothing behind the standard three."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    first = 3
    for descriptor in (*sorted(kept), 4096):
        os.closerange(first, descriptor)
        first = descriptor + 1


# ---------------------------------------------------------------- Linux

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # the same numbers on every architecture


def _libc():
    return ctypes.CDLL(None, use_errno=True)


def give_up_privileges() -> list[str]:
    """Die with the server, stay unreadable, and never gain a privilege again."""
    libc = _libc()
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    libc.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    return ["no_new_privs"] if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 else []


# Landlock: rights to files by path

LIBRARIES = ("stdlib", "platstdlib", "purelib", "platlib")

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
HANDLED = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 4: 0x7FFF}  # rights known by ABI; later ones know 0xFFFF


def landlock_abi() -> int:
    """Return the version of Landlock this kernel speaks, 0 for none."""
    if not sys.platform.startswith("linux"):
        return 0
    return max(0, _libc().syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint(1)))


def landlock_rules() -> tuple[int, str]:
    """Return a descriptor of the rules that let a worker read the libraries and nothing else, and the layer's name."""
    abi = landlock_abi()
    if not abi:
        return -1, ""
    libc, handled = _libc(), HANDLED.get(abi, 0xFFFF)
    attributes = struct.pack("QQQ", handled, 3 if abi >= 4 else 0, 3 if abi >= 6 else 0)
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    rules = libc.syscall(CREATE_RULESET, attributes, ctypes.c_size_t(size), ctypes.c_uint(0))
    if rules < 0:
        return -1, ""
    for path in readable_paths():
        _allow(libc, rules, path, READ_FILE | READ_DIR if path.is_dir() else READ_FILE)
    for folder in (FFNLIB, *{Path(sysconfig.get_path(name)) for name in LIBRARIES}):
        _allow(libc, rules, folder, READ_DIR)  # names only: an import lists the folder
    _allow(libc, rules, Path(os.devnull), READ_FILE | WRITE_FILE)
    return rules, f"landlock {abi}"


def _allow(libc, rules: int, path: Path, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what does not exist needs no rule
    rule = struct.pack("=Qi", rights, descriptor)
    libc.syscall(ADD_RULE, ctypes.c_int(rules), ctypes.c_int(1), rule, ctypes.c_uint(0))
    os.close(descriptor)


def readable_paths() -> list[Path]:
    """Return what a worker may read: Python's libraries, the system's, ffnlib's mathematics without its exercises."""
    libraries = [sysconfig.get_path(name) for name in LIBRARIES]
    system = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/etc/localtime"]
    system += ["/usr/share/zoneinfo", "/dev/urandom", "/dev/zero"]
    rooms = ("specimen", "ledger", "memory", "editing", "sparsity")
    own = [*FFNLIB.glob("*.py"), FFNLIB / "__pycache__", *(FFNLIB / name for name in rooms)]
    own.append(FFNLIB.parent / "notebooks")
    return [path for library in (*libraries, *system) for path in without_course(Path(library).resolve())] + own


def without_course(library: Path) -> list[Path]:
    """Return a library's folder, or what lies in it beside the course when the course is installed there."""
    if library not in FFNLIB.parents:
        return [library]
    found: list[Path] = []
    for entry in library.iterdir():
        if entry != FFNLIB:
            found += without_course(entry)
    return found


def restrict_files(rules: int) -> bool:
    """Put this process under the rules; return whether they hold."""
    return rules >= 0 and _libc().syscall(RESTRICT_SELF, ctypes.c_int(rules), ctypes.c_uint(0)) == 0


# seccomp: system calls by number.  name: (x86-64, aarch64)

DENIED = {
    # other programs
    "fork": (57, None), "vfork": (58, None), "execve": (59, 221), "execveat": (322, 281),
    "kill": (62, 129), "tkill": (200, 130), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424), "pidfd_getfd": (438, 438),
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "process_madvise": (440, 440), "kcmp": (312, 272),
    # another user's rights, whose change undoes the tie to the grader as well
    "setuid": (105, 146), "setgid": (106, 144), "setreuid": (113, 145), "setregid": (114, 143),
    "setresuid": (117, 147), "setresgid": (119, 149), "setfsuid": (122, 151), "setfsgid": (123, 152),
    "setgroups": (116, 159), "capset": (126, 91),
    # network
    "socket": (41, 198), "connect": (42, 203), "accept": (43, 202), "accept4": (288, 242),
    "bind": (49, 200), "listen": (50, 201),
    # the machine
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "keyctl": (250, 219),
    "add_key": (248, 217), "request_key": (249, 218), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142),
    "swapon": (167, 224), "swapoff": (168, 225), "acct": (163, 89), "quotactl": (179, 60), "syslog": (103, 116),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171), "clock_adjtime": (305, 266),
    "sethostname": (170, 161), "setdomainname": (171, 162), "iopl": (172, None), "ioperm": (173, None),
    "modify_ldt": (154, None), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "setpriority": (141, 140), "sched_setscheduler": (144, 119),
    "sched_setattr": (314, 274), "sched_setparam": (142, 118), "sched_setaffinity": (203, 122),
    "ioprio_set": (251, 30), "migrate_pages": (256, 238), "move_pages": (279, 239),
    "setrlimit": (160, 164), "fanotify_init": (300, 262),
    # memory that no limit counts
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194), "shmat": (30, 196),
    "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180),
    # files: none is made, removed, renamed or marked
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "openat2": (437, 437),
    "creat": (85, None), "truncate": (76, 45), "unlink": (87, None), "unlinkat": (263, 35), "rename": (82, None),
    "renameat": (264, 38), "renameat2": (316, 276), "rmdir": (84, None), "mkdir": (83, None), "mkdirat": (258, 34),
    "mknod": (133, None), "mknodat": (259, 33), "link": (86, None), "linkat": (265, 37), "symlink": (88, None),
    "symlinkat": (266, 36), "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54), "utime": (132, None),
    "utimes": (235, None), "utimensat": (280, 88), "futimesat": (261, None), "setxattr": (188, 5),
    "lsetxattr": (189, 6), "fsetxattr": (190, 7), "removexattr": (197, 14), "lremovexattr": (198, 15),
    "fremovexattr": (199, 16), "setxattrat": (463, 463), "removexattrat": (466, 466),
}  # fmt: skip
COMMANDS = {  # what an argument may not be: to have signals sent to another process, to type on a terminal, to live on
    "fcntl": ((72, 25), 1, (8, 10, 15)),  # F_SETOWN, F_SETSIG, F_SETOWN_EX
    "ioctl": ((16, 29), 1, (0x8901, 0x8902, 0x5412)),  # FIOSETOWN, SIOCSPGRP, TIOCSTI
    "prctl": ((157, 167), 0, (1,)),  # PR_SET_PDEATHSIG, by which a worker dies with a grader that is killed
}
CONDITIONAL = {
    "clone": (56, 220),
    "clone3": (435, 435),
    "tgkill": (234, 131),
    "prlimit64": (302, 261),
    "open": (2, None),
    "openat": (257, 56),
}
ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}  # column of the tables, audit number

ALLOW, KILL, ERRNO, EPERM, ENOSYS = 0x7FFF0000, 0x80000000, 0x00050000, 1, 38
LOAD, EQUAL, AT_LEAST, ANY_BIT, RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
CLONE_THREAD, WRITING = 0x10000, 0o1103  # O_WRONLY, O_RDWR, O_CREAT, O_TRUNC


def seccomp_filter(machine: str, pid: int) -> bytes | None:
    """Return the filter for this machine as BPF instructions, or None for a machine whose numbers are not known."""
    if machine not in ARCHITECTURES:
        return None
    column, audit = ARCHITECTURES[machine]
    number = {name: entry[column] for name, entry in CONDITIONAL.items()}
    deny = (RETURN, 0, 0, ERRNO | EPERM)
    allow = (RETURN, 0, 0, ALLOW)
    code = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, audit), (RETURN, 0, 0, KILL), (LOAD, 0, 0, 0)]
    code += [(AT_LEAST, 0, 1, 0x40000000), deny]  # the x32 numbers of x86-64; no other architecture has such
    for entry in DENIED.values():
        if entry[column] is not None:
            code += [(EQUAL, 0, 1, entry[column]), deny]
    # threads, but no processes; clone3 hides its flags behind a pointer, and glibc then falls back to clone
    code += [(EQUAL, 0, 1, number["clone3"]), (RETURN, 0, 0, ERRNO | ENOSYS)]
    code += _when(number["clone"], (_argument(0), (ANY_BIT, 1, 0, CLONE_THREAD), deny, allow))
    code += _when(number["tgkill"], (_argument(0), (EQUAL, 1, 0, pid), deny, allow))
    reading_limits = (_argument(2), (EQUAL, 0, 2, 0), _argument(2, 4), (EQUAL, 1, 0, 0), deny, allow)
    code += _when(number["prlimit64"], reading_limits)
    for entry, position, commands in COMMANDS.values():
        refused = [part for command in commands for part in ((EQUAL, 0, 1, command), deny)]
        code += _when(entry[column], (_argument(position), *refused, allow))
    for name, position in (("open", 1), ("openat", 2)):
        if number[name] is not None:
            code += _when(number[name], (_argument(position), (ANY_BIT, 0, 1, WRITING), deny, allow))
    code.append(allow)
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


def _argument(position: int, half: int = 0) -> tuple[int, int, int, int]:
    return LOAD, 0, 0, 16 + 8 * position + half


def _when(number: int, block: tuple) -> list:
    """Return the instructions that run `block` for one system call and skip it for the others."""
    return [(EQUAL, 0, len(block), number), *block]


def restrict_calls() -> bool:
    """Put this process under the filter; return whether it holds."""
    if not sys.platform.startswith("linux"):
        return False
    code = seccomp_filter(platform.machine(), os.getpid())
    if code is None:
        return False
    buffer = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    return _libc().prctl(PR_SET_SECCOMP, 2, ctypes.c_char_p(program), 0, 0) == 0


def enter(memory: int, seconds: float, rules: tuple[int, str] = (-1, "")) -> list[str]:
    """Put every layer this system offers around the process; return their names."""
    layers = limit_resources(memory, seconds)
    if not sys.platform.startswith("linux"):
        return layers
    layers += give_up_privileges()
    if restrict_files(rules[0]):
        layers.append(rules[1])
    if rules[0] >= 0:
        os.close(rules[0])
    if restrict_calls():
        layers.append("seccomp")
    return layers


def is_confined(layers) -> bool:
    """Return whether the layers keep a submission from files and network."""
    return any(layer.startswith(REQUIRED) for layer in layers)
