"""The group of all commands, and the exit codes."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

import minmin
from minmin.cli.coefficients import coefficients
from minmin.cli.federated import federated
from minmin.cli.fit import fit
from minmin.cli.methods import methods
from minmin.cli.partition import partition
from minmin.cli.predict import predict
from minmin.cli.reproduce import reproduce
from minmin.cli.solve import check, solve
from minmin.errors import MinMinError

DONE, NOT_REACHED, WRONG_INPUT, NO_FILE, INTERRUPTED = 0, 1, 2, 3, 130
"""Exit codes; the commands themselves return NOT_REACHED."""


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(minmin.__version__, message="minmin %(version)s")
def app() -> None:
    """Minimise f(x, y), where x is expensive and y is cheap, with a proved bound on the distance to the minimum.

    \b
    Fit a linear model with a penalty per block of columns, look at it, and predict with it:
      minmin fit clicks.csv --target clicked --block 'words=word_*:1e-3' --alpha 1e-6 --save model.skops
      minmin coefficients model.skops --top 20
      minmin predict model.skops tomorrow.csv --proba
    The same for more rows than memory holds, which stay on disk:
      minmin partition january.csv february.csv --target clicked --out clicks
      minmin fit clicks --block 'words=word_*:1e-3' --alpha 1e-6 --save model.skops
    Fit a linear model with two blocks x and y, by any method:
      minmin solve data.svm --y-columns 101- --alpha-x 1e-3 --alpha-y 1e-5
    Check a file and the model that it gives, without fitting it:
      minmin check clicks.csv --target clicked --y-columns 'age,price_*'
    Simulate federated learning and count its rounds:
      minmin federated simulate data.svm --clients 20 --x-columns 1-100
    Repeat the experiments of Kovalev, Gasnikov and Malinovsky, arXiv:2212.14439, in report/index.html:
      minmin reproduce

    Exit codes: 0 success; 1 the tolerance was not reached, or a check failed; 2 wrong input; 3 a file cannot be
    written; 130 interrupted.
    """


@app.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print a script for tab completion of minmin's commands in a shell.

    \b
    For bash, add this line to ~/.bashrc:
      eval "$(minmin completion bash)"
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(app, {}, "minmin", "_MINMIN_COMPLETE").source())


for command in (reproduce, solve, fit, predict, coefficients, partition, check, federated, methods):
    app.add_command(command)


def run(arguments: list[str]) -> int:
    """Run a command line. Every expected failure prints one line on standard error and returns an exit code."""
    try:
        exit_code = app.main(arguments, prog_name="minmin", standalone_mode=False)
        return exit_code if isinstance(exit_code, int) else DONE
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except MinMinError as error:
        click.echo(f"minmin: {error}", err=True)
        return WRONG_INPUT
    except OSError as error:
        click.echo(f"minmin: {error.filename or 'error'}: {error.strerror or error}", err=True)
        return NO_FILE
    except (KeyboardInterrupt, click.Abort):
        click.echo("minmin: interrupted", err=True)
        return INTERRUPTED
