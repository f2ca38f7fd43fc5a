"""The command `kvarium`: whatever is imported is imported within it, so that Ctrl-C is answered in one line at any moment."""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from kvarium.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(130)
