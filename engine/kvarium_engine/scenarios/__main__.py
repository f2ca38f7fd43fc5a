"""``python -m kvarium_engine.scenarios``: the command, as a server runs it beside itself."""

import typer

from kvarium_engine.scenarios.command import register

if __name__ == "__main__":
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    register(app)
    app()
