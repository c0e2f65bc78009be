"""What pages say of methods is what the methods declare."""

import runpy
from pathlib import Path


def test_tables_and_options_are_up_to_date(monkeypatch, capsys):
    script = Path(__file__).parents[2] / "scripts" / "tables.py"
    monkeypatch.setattr("sys.argv", [str(script), "--check"])
    assert runpy.run_path(str(script))["main"]() == 0, capsys.readouterr().out
