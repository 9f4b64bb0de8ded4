"""Machine code in a folder: no file runs that is damaged, another's, or no file."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import warnings

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import tapegrad
from tapegrad._native import kept, llvm

X = np.linspace(0.1, 1.0, 5)
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="owners are not asked on Windows")


def made(number=3.25):
    """The result of machine code, which is built or read."""
    fast = tapegrad.compile(lambda x: np.sum(np.sin(x) * number), backend="llvm")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return [fast(X) for _ in range(4)][-1]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    path = tmp_path / "kept"
    monkeypatch.setenv("TAPEGRAD_CACHE", str(path))
    kept._TOLD.clear()
    return path


@pytest.fixture
def builds(monkeypatch):
    """How often LLVM was asked to build."""
    calls = []
    real = llvm.target

    def counted():
        calls.append(None)
        return real()

    monkeypatch.setattr(llvm, "target", counted)
    return calls


def test_code_is_read_once_it_is_kept(folder, builds):
    assert made() == made()
    assert len(builds) == 1
    assert [path.suffix for path in folder.iterdir()] == [".o"]  # and nothing beside it


@POSIX
def test_others_can_neither_read_nor_write(folder):
    before = os.umask(0)
    try:
        made()
    finally:
        os.umask(before)
    (path,) = folder.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert path.stat().st_mode & 0o777 == 0o600


@POSIX
@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
def test_a_folder_in_which_others_may_write_is_refused(mode, folder, builds):
    made()
    folder.chmod(mode)
    fast = tapegrad.compile(lambda x: np.sum(np.sin(x) * 3.25), backend="llvm")
    with pytest.warns(UserWarning, match=r"compile: .* no other user may write.*kept.*TAPEGRAD_"):
        found = [fast(X) for _ in range(4)][-1]
    assert len(builds) == 2
    assert found == made()  # without another warning
    made(4.5)
    assert len(list(folder.iterdir())) == 1


@POSIX
def test_a_folder_of_another_user_is_refused(folder, builds, monkeypatch):
    made()
    monkeypatch.setattr(kept, "is_private", lambda found: False)
    with pytest.warns(UserWarning, match="no other user may write"):
        assert kept.folder() is None
    made()
    assert len(builds) == 2


@POSIX
def test_a_file_in_which_others_may_write_is_built_anew(folder, builds):
    expected = made()
    (path,) = folder.iterdir()
    path.chmod(0o666)
    assert made() == expected
    assert len(builds) == 2
    assert path.stat().st_mode & 0o777 == 0o600


def damaged(path, how, other):
    """Replace a file of machine code."""
    content = path.read_bytes()
    path.unlink()
    if how == "pipe":
        os.mkfifo(path)
    elif how == "device":
        path.symlink_to("/dev/zero")
    elif how == "link":
        copy = path.parent.parent / "copy"
        copy.write_bytes(content)
        path.symlink_to(copy)
    elif how == "folder":
        path.mkdir()
    elif how == "another program's":
        shutil.copyfile(other, path)
    elif how == "without its sum":
        path.write_bytes(content[kept.SUM :])
    elif how == "longer":
        path.write_bytes(content + b"\0")


@pytest.mark.part(3)
@POSIX
@pytest.mark.parametrize(
    "how",
    ["pipe", "device", "link", "folder", "another program's", "without its sum", "longer", "gone"],
)
def test_what_is_not_the_file_that_was_kept_is_built_anew(how, folder, builds):
    expected, _ = made(), made(7.5)
    path = folder / f"{name_of_first(folder)}.o"
    (other,) = set(folder.glob("*.o")) - {path}
    damaged(path, how, other)
    assert made() == expected
    assert len(builds) == 3


def name_of_first(folder):
    return min(folder.glob("*.o"), key=lambda path: path.stat().st_mtime_ns).stem


def drawn_damage(draw, content):
    """Bytes that have changed, are gone, or are more."""
    data = bytearray(content)
    for _ in range(draw.integers(1, 4)):
        at = int(draw.integers(len(data) + 1))
        way = draw.integers(4)
        if way == 0 and at < len(data):
            data[at] ^= int(draw.integers(1, 256))
        elif way == 1:
            del data[at:]
        elif way == 2:
            data[at:at] = draw.bytes(int(draw.integers(1, 50)))
        else:
            del data[at : at + int(draw.integers(1, 50))]
    return bytes(data)


@pytest.mark.parametrize("count", [200, pytest.param(20_000, marks=pytest.mark.slow)])
def test_damaged_files_are_not_taken(count, tmp_path):
    draw = np.random.default_rng(0)
    name, code = "0" * 64, draw.bytes(3000)
    kept.keep(tmp_path, name, code)
    content = (tmp_path / f"{name}.o").read_bytes()
    assert kept.read(tmp_path, name) == code
    for _ in range(count):
        data = drawn_damage(draw, content)
        (tmp_path / f"{name}.o").write_bytes(data)
        assert kept.read(tmp_path, name) == (code if data == content else None)


def test_processes_and_threads_write_at_once(tmp_path):
    name, code = "0" * 64, bytes(10**5)
    threads = [threading.Thread(target=kept.keep, args=(tmp_path, name, code)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert kept.read(tmp_path, name) == code
    assert len(list(tmp_path.iterdir())) == 1


def test_other_files_of_the_folder_are_left(tmp_path, monkeypatch):
    (tmp_path / "mine.o").write_bytes(b"")
    monkeypatch.setattr(kept, "MOST_KEPT", 2)
    for digit in "012345":
        kept.keep(tmp_path, digit * 64, b"code")
    assert len(list(tmp_path.iterdir())) == 3
    assert (tmp_path / "mine.o").exists()
