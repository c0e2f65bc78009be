"""The group of commands, and how each of them may end."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

import minmin
from minmin.cli.check import check
from minmin.cli.federated import federated
from minmin.cli.fit import fit
from minmin.cli.methods import methods
from minmin.cli.predict import predict
from minmin.cli.reproduce import reproduce
from minmin.cli.solve import solve
from minmin.errors import MinMinError

DONE, NOT_REACHED, WRONG_INPUT, NO_FILE, INTERRUPTED = 0, 1, 2, 3, 130
"""Exit codes; 1 is said by the commands themselves."""


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(minmin.__version__, message="minmin %(version)s")
def app() -> None:
    """Minimise f(x, y) with an expensive block x and a cheap block y, and know how far from the minimum you are.

    \b
    Fit a model with a penalty per block, with a certificate, and use it:
      minmin fit clicks.csv --target clicked --block 'words=word_*:1e-3' --alpha 1e-6 --save model.skops
      minmin predict model.skops tomorrow.csv --proba
    The same without an intercept, by any method:
      minmin solve data.svm --y-columns 101- --alpha-x 1e-3 --alpha-y 1e-5
    Look whether a file is fit for that:
      minmin check clicks.csv --target clicked --y-columns 'age,price_*'
    See how many rounds that takes over clients that keep their data:
      minmin federated simulate data.svm --clients 20 --x-columns 1-100
    Run the paper's experiments again and open report/index.html:
      minmin reproduce

    Exit codes: 0 done; 1 ended short of the tolerance, or a check failed; 2 wrong input; 3 a file that cannot be
    written; 130 interrupted.
    """


@app.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that completes minmin's commands in SHELL.

    \b
    For bash, in ~/.bashrc:
      eval "$(minmin completion bash)"
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(app, {}, "minmin", "_MINMIN_COMPLETE").source())


for command in (reproduce, solve, fit, predict, check, federated, methods):
    app.add_command(command)


def run(arguments: list[str]) -> int:
    """Run a command line; every foreseen failure is one line on standard error and an exit code."""
    try:
        answer = app.main(arguments, prog_name="minmin", standalone_mode=False)
        return answer if isinstance(answer, int) else DONE
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
