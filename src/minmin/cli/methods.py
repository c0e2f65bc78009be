"""minmin methods."""

from __future__ import annotations

import inspect

import click

from minmin.cli.output import json_option, print_json
from minmin.methods import describe


@click.command()
@json_option
def methods(as_json: bool) -> None:
    """List what --method takes.

    \b
    The names alone:
      minmin methods --json | jq -r 'keys[]'
    """
    known = describe()
    if as_json:
        print_json(known)
        return
    width = max(map(len, known))
    for name, text in known.items():
        click.echo(f"{name:<{width}}  {inspect.cleandoc(text)}")
