"""The page on the command line: its example prints what it says, and it names every option."""

import re
import shlex
from pathlib import Path

import pytest

from minmin.cli.app import app, run

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "command-line.md").read_text(encoding="utf-8")


def test_the_example_prints_what_the_page_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, content in re.findall(r"^`(\S+\.csv)`.*?```\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE):
        (tmp_path / name).write_text(content)
    sessions = re.findall(r"```\n\$ (.*?)```", PAGE, re.DOTALL)
    commands = [part for session in sessions for part in session.split("\n$ ")]
    assert [command.split()[1] for command in commands] == ["fit", "coefficients", "predict"]
    for command in commands:
        line, _, expected = command.partition("\n")
        assert run(shlex.split(line)[1:]) == 0
        printed = capsys.readouterr()
        lines = iter((printed.err + printed.out).splitlines())
        for wanted in expected.splitlines():
            assert wanted == "…" or wanted in lines  # in the order of the page


@pytest.mark.parametrize("command", ["fit", "coefficients", "predict"])
def test_every_option_is_on_the_page(command):
    section = re.search(rf"## minmin {command} .*?(?=\n## |\Z)", PAGE, re.DOTALL)[0]
    for parameter in app.commands[command].params:
        for option in (parameter.secondary_opts or parameter.opts)[:1]:
            assert not option.startswith("--") or option in section
