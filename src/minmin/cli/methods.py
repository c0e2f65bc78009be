"""minmin methods."""

from __future__ import annotations

import inspect

import click

from minmin.cli.output import json_option, print_json


@click.command()
@json_option
def methods(as_json: bool) -> None:
    """List the methods that 'minmin solve --method' accepts.

    \b
    Only their names:
      minmin methods --json | jq -r 'keys[]'
    """
    from minmin.methods.registry import describe

    descriptions = describe()
    if as_json:
        print_json(descriptions)
        return
    width = max(map(len, descriptions))
    for name, text in descriptions.items():
        click.echo(f"{name:<{width}}  {inspect.cleandoc(text)}")
