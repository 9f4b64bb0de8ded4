"""Regular files are opened and nothing else, and it is asked who may write to them."""

from __future__ import annotations

import os
import socket
import sys

import pytest

from tapegrad._files import is_private, open_regular

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes by a path")


def test_a_regular_file_is_read(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"text")
    with open_regular(path) as file:
        assert file.read() == b"text"
    with open_regular(str(path), writes=True) as file:
        file.write(b"T")
    assert path.read_bytes() == b"Text"
    with pytest.raises(FileNotFoundError):
        open_regular(tmp_path / "b")


@POSIX
def test_nothing_else_is_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="expected a regular file, got a named pipe"):
        open_regular(tmp_path / "pipe")
    with pytest.raises(OSError, match="got a device"):
        open_regular("/dev/zero")
    with pytest.raises(IsADirectoryError):
        open_regular(tmp_path)
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(os.path.relpath(tmp_path / "s"))
        with pytest.raises(OSError, match=r"socket|No such device"):
            open_regular(tmp_path / "s")


@POSIX
def test_links(tmp_path):
    (tmp_path / "a").write_bytes(b"text")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with open_regular(tmp_path / "link") as file:
        assert file.read() == b"text"
    with pytest.raises(OSError, match="link"):
        open_regular(tmp_path / "link", links=False)


@POSIX
@pytest.mark.parametrize(
    ("mode", "private"), [(0o600, True), (0o644, True), (0o620, False), (0o602, False)]
)
def test_others_that_may_write(mode, private, tmp_path):
    (tmp_path / "a").write_bytes(b"")
    (tmp_path / "a").chmod(mode)
    assert is_private((tmp_path / "a").stat()) == private


@POSIX
def test_files_of_other_users(tmp_path, monkeypatch):
    here = os.geteuid()
    found = tmp_path.stat()
    monkeypatch.setattr(os, "geteuid", lambda: here + 1)
    assert is_private(found) == (here == 0)  # the superuser may write anyway


def test_windows_is_not_asked(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "geteuid", raising=False)
    (tmp_path / "a").write_bytes(b"")
    (tmp_path / "a").chmod(0o666)
    assert is_private((tmp_path / "a").stat())
