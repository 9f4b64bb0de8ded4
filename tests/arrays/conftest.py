"""Tests that call all of NumPy's functions, those that write files too: in folders of theirs."""

from __future__ import annotations

import pytest

CALL_ALL = ("test_never_silent", "test_foreign")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(request, tmp_path_factory, monkeypatch):
    if request.path.stem in CALL_ALL:
        monkeypatch.chdir(tmp_path_factory.mktemp("files", numbered=True))
