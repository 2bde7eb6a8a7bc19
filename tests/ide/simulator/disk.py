"""A disk in memory, and what stands in for `os` and `open` in the modules that use it."""

from __future__ import annotations

import errno
import hashlib
import io
import itertools
import os
import stat
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Callable, Iterable, Iterator

from companion.base.folder_lock import FolderInUse

from ...virtual_loop import PROCESS

STATE_FOLDER = "/state"
STATE = STATE_FOLDER + "/GeminiCompanion/state.json"


@dataclass
class File:
    data: bytes
    mtime_ns: int


class Disk:
    """`written` has every text that a CLI ever put into a file. `before` is called with the name of
    each operation that changes something, and may raise what hinders it."""

    def __init__(self, now_ns: Callable[[], int], before: Callable[[str], None]) -> None:
        self.files: dict[str, File] = {}
        self.folders = {"/", STATE_FOLDER}
        self.written: dict[str, list[str]] = {}
        self.strays: list[str] = []
        # The processes that have a folder for themselves.
        self.locks: dict[str, int] = {}
        self.now_ns = now_ns
        self.before = before

    def write_as_cli(self, path: str, text: str) -> None:
        self.files[path] = File(text.encode("utf-8"), self.now_ns())
        self.written.setdefault(path, []).append(text)

    def text(self, path: str) -> str:
        return self.files[path].data.decode("utf-8") if path in self.files else ""

    def digest(self, path: str) -> str:
        """Of the file's bytes; empty where there is none."""
        return hashlib.sha256(self.files[path].data).hexdigest() if path in self.files else ""

    def change(self, operation: str, path: str) -> None:
        """An operation of the companion's own."""
        if not path.startswith(STATE_FOLDER):
            self.strays.append(f"{operation} {path}")
        self.before(operation)


class _Writer(io.BytesIO):
    """An open file; what was written is there at once, as with a kernel that outlives us."""

    def __init__(self, disk: Disk, path: str) -> None:
        super().__init__()
        self._disk = disk
        self._path = path

    def write(self, data: Any) -> int:
        half = len(data) // 2
        self._put(data[:half])
        self._disk.change("write", self._path)
        self._put(data[half:])
        return len(data)

    def writelines(self, lines: Iterable[Any]) -> None:
        for each in lines:
            self.write(each)

    def _put(self, data: bytes) -> None:
        file = self._disk.files.get(self._path)
        if file is not None:
            self._disk.files[self._path] = File(file.data + data, self._disk.now_ns())


class _Reader(io.BytesIO):
    def __init__(self, data: bytes, descriptor: int, close: Callable[[int], None]) -> None:
        super().__init__(data)
        self._descriptor = descriptor
        self._close = close

    def fileno(self) -> int:
        return self._descriptor

    def close(self) -> None:
        super().close()
        self._close(self._descriptor)


class Lock:
    """Stands in for FolderLock; `dead` gives the processes that have none any more."""

    def __init__(self, disk: Callable[[], Disk], dead: Callable[[], set[int]], folder: str) -> None:
        self.folder = folder
        self.holder = ""
        self._disk = disk
        self._dead = dead

    def acquire(self) -> None:
        holder = self._disk().locks.get(self.folder)
        if holder not in {None, PROCESS.get(), *self._dead()}:
            self.holder = str(holder)
            raise FolderInUse(self.folder)
        self._disk().locks[self.folder] = PROCESS.get()

    def release(self) -> None:
        if self._disk().locks.get(self.folder) == PROCESS.get():
            del self._disk().locks[self.folder]


class _Path:
    def __init__(self, disk: Callable[[], Disk]) -> None:
        self._disk = disk

    def __getattr__(self, name: str) -> Any:
        return getattr(os.path, name)

    def isfile(self, path: str) -> bool:
        return path in self._disk().files

    def isdir(self, path: str) -> bool:
        return path in self._disk().folders

    def exists(self, path: str) -> bool:
        return self.isfile(path) or self.isdir(path)

    lexists = exists


class VirtualOs:
    """Stands in for the module `os`; `disk` and `pid` give those of the present world,
    `runs` whether another process is there."""

    def __init__(
        self,
        disk: Callable[[], Disk],
        pid: Callable[[], int],
        runs: Callable[[int], bool],
    ) -> None:
        self._disk = disk
        self._runs = runs
        self.getpid = pid
        self.path = _Path(disk)
        self._descriptors: dict[int, str] = {}
        self._next = itertools.count(1000)

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def kill(self, pid: int, signal: int) -> None:
        if pid != self.getpid() and not self._runs(pid):
            raise ProcessLookupError

    def stat(self, path: str, **options: Any) -> Any:
        disk = self._disk()
        if path in disk.files:
            file = disk.files[path]
            return _status(stat.S_IFREG | 0o600, len(file.data), file.mtime_ns)
        if path in disk.folders:
            return _status(stat.S_IFDIR | 0o700, 0, 0)
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)

    lstat = stat

    def access(self, path: str, mode: int) -> bool:
        return self.path.exists(path)

    def chmod(self, path: str, mode: int) -> None:
        self.stat(path)

    def makedirs(self, path: str, mode: int = 0o777, exist_ok: bool = False) -> None:
        self._disk().folders.add(path)

    def mkdir(self, path: str, mode: int = 0o777) -> None:
        if path in self._disk().folders:
            raise FileExistsError(errno.EEXIST, "File exists", path)
        self._disk().change("mkdir", path)
        self._disk().folders.add(path)

    def open(self, path: str, flags: int, mode: int = 0o777) -> int:
        disk = self._disk()
        if flags & (os.O_WRONLY | os.O_RDWR):
            disk.change("open", path)
            disk.files[path] = File(b"", disk.now_ns())
        elif path not in disk.files:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)
        return self._descriptor(path)

    def _descriptor(self, path: str) -> int:
        descriptor = next(self._next)
        self._descriptors[descriptor] = path
        return descriptor

    def fstat(self, descriptor: int) -> Any:
        return self.stat(self._descriptors[descriptor])

    def fdopen(self, descriptor: int, mode: str = "r") -> Any:
        path = self._descriptors[descriptor]
        return _Writer(self._disk(), path) if "w" in mode else self.open_file(path, mode)

    def close(self, descriptor: int) -> None:
        self._descriptors.pop(descriptor, None)

    def fsync(self, descriptor: int) -> None:
        pass

    def replace(self, source: str, target: str) -> None:
        disk = self._disk()
        disk.change("replace", target)
        disk.files[target] = disk.files.pop(source)

    rename = replace

    def utime(self, path: str, ns: tuple[int, int]) -> None:
        self.stat(path)
        disk = self._disk()
        disk.files[path] = File(disk.files[path].data, ns[1])

    def unlink(self, path: str) -> None:
        disk = self._disk()
        if path not in disk.files:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)
        disk.change("unlink", path)
        del disk.files[path]

    remove = unlink

    def scandir(self, folder: str) -> Iterator[Any]:
        names = [file for file in self._disk().files if os.path.dirname(file) == folder]
        for path in names:
            yield SimpleNamespace(
                path=path, name=os.path.basename(path), stat=lambda path=path, **_: self.stat(path)
            )

    def open_file(self, path: str, mode: str = "r", **options: Any) -> Any:
        """Stands in for `open`."""
        if "b" not in mode or "r" not in mode:
            raise NotImplementedError(f"open({path!r}, {mode!r})")
        file = self._disk().files.get(path)
        if file is None:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)
        return _Reader(file.data, self._descriptor(path), self.close)


def _status(mode: int, size: int, mtime_ns: int) -> Any:
    owner = os.getuid() if hasattr(os, "getuid") else 0
    return SimpleNamespace(
        st_mode=mode, st_size=size, st_mtime_ns=mtime_ns, st_mtime=mtime_ns / 1e9, st_uid=owner
    )
