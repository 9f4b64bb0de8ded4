"""Folders of states whose process was killed: the next process removes them, and no others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tapegrad import checkpoint, grad
from tapegrad._transforms import owned_folders
from tapegrad._transforms.owned_folders import OwnedFolder

WAITS = """
import os, sys, time
import numpy as np
from tapegrad import checkpoint, vjp

kept = vjp(checkpoint(np.sin, save="disk", directory=sys.argv[1]), np.ones(3))
if sys.argv[2] == "fork" and os.fork() == 0:
    print(os.getpid(), flush=True)
    time.sleep(600)
elif sys.argv[2] != "fork":
    print(os.getpid(), flush=True)
time.sleep(600)
"""

pytestmark = pytest.mark.skipif(owned_folders.fcntl is None, reason="by no lock: Windows")


class Process:
    """A process that waits, with the files of a checkpoint; it is killed at the end."""

    def __init__(self, directory: Path, how: str = "plain") -> None:
        before = set(directory.iterdir())
        self.run = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", WAITS, str(directory), how],
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert self.run.stdout is not None
        self.last = int(self.run.stdout.readline())  # the child, if there is one
        (self.folder,) = set(directory.iterdir()) - before
        assert list(self.folder.rglob("*.npy"))

    def kill(self) -> None:
        self.run.kill()
        self.run.wait()


@pytest.fixture
def process(tmp_path):
    made = []

    def start(*args):
        made.append(Process(tmp_path, *args))
        return made[-1]

    yield start
    for one in made:
        one.kill()
        one.run.stdout.close()


def derive(directory):
    owned_folders._collect.cache_clear()  # as in another process
    f = checkpoint(lambda x: np.sum(np.sin(x)), save="disk", directory=directory)
    assert np.array_equal(grad(f)(np.zeros(2)), [1.0, 1.0])


def test_the_folder_of_a_killed_process_is_collected(tmp_path, process):
    killed, living = process(), process()
    derive(tmp_path)
    assert killed.folder.exists()
    assert living.folder.exists()
    killed.kill()
    derive(tmp_path)
    assert list(tmp_path.iterdir()) == [living.folder]
    assert list(living.folder.rglob("*.npy"))


def test_a_forked_process_holds_the_folder(tmp_path, process):
    one = process("fork")
    one.kill()
    derive(tmp_path)
    assert one.folder.exists()
    os.kill(one.last, signal.SIGKILL)
    for _ in range(500):  # it is no child of this process, which could wait for it
        derive(tmp_path)
        if not one.folder.exists():
            break
    assert list(tmp_path.iterdir()) == []


def left_behind(directory):
    """A folder as a killed process leaves it."""
    made = directory / "tapegrad-abc"
    (made / "0").mkdir(parents=True)
    (made / "0" / "0.npy").write_bytes(b"states")
    (made / "owner").write_bytes(owned_folders._words())
    return made


@pytest.mark.parametrize("other", ["machine", "no mark", "pipe", "link", "linked folder", "name"])
def test_what_may_be_of_others_is_left(other, tmp_path):
    made = left_behind(tmp_path)
    mark = made / "owner"
    if other == "machine":
        mark.write_bytes(b"tapegrad elsewhere\n")
    elif other == "name":
        made = made.rename(tmp_path / "results")
    elif other == "linked folder":
        made.rename(tmp_path / "real")
        made.symlink_to(tmp_path / "real")
    else:
        mark.rename(tmp_path / "mark")
        if other == "pipe":
            os.mkfifo(mark)
        elif other == "link":
            mark.symlink_to(tmp_path / "mark")
    derive(tmp_path)
    assert (made / "0" / "0.npy").exists()


def test_what_is_left_behind_is_collected_once_in_a_process(tmp_path):
    made = left_behind(tmp_path)
    derive(tmp_path)
    assert list(tmp_path.iterdir()) == []
    left_behind(tmp_path)
    folder = OwnedFolder(str(tmp_path))
    assert made.exists()
    folder.remove()


def test_a_file_system_without_locks(tmp_path, monkeypatch):
    def refused(*_):
        raise OSError

    monkeypatch.setattr(owned_folders.fcntl, "flock", refused)
    folder = OwnedFolder(str(tmp_path))
    (made,) = tmp_path.iterdir()
    monkeypatch.undo()
    assert [path.name for path in made.iterdir()] == ["0"]  # and so nobody collects it
    derive(tmp_path)
    assert Path(folder.path).exists()
    folder.remove()
    assert list(tmp_path.iterdir()) == []


def test_many_folders_have_one_lock(tmp_path):
    """A network of a thousand checkpoints has as many folders: the system has fewer handles."""
    folders = [OwnedFolder(str(tmp_path)) for _ in range(50)]
    (made,) = tmp_path.iterdir()
    assert len(list(made.rglob("owner"))) == 1
    assert len(list(made.iterdir())) == 51
    for folder in folders:
        folder.remove()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_somebody_removed_is_made_again(tmp_path):
    first = OwnedFolder(str(tmp_path))
    (made,) = tmp_path.iterdir()
    made.rename(tmp_path / "gone")
    second = OwnedFolder(str(tmp_path))
    assert Path(second.path).is_dir()
    first.remove()
    second.remove()


def test_the_folder_is_found_from_another_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = OwnedFolder(".")
    monkeypatch.chdir("/")
    folder.remove()
    assert list(tmp_path.iterdir()) == []
