"""The command line of `build.py`. Parses, calls the right module, and turns BuildError into plain lines."""

from __future__ import annotations

import argparse
import sys

from . import model, testing
from .build import build
from .console import BuildError, say
from .paths import ROOT
from .serve import serve

DESCRIPTION = "Attention Lab: fetch the pinned runtime, build the page, serve it, test it."


def parser() -> argparse.ArgumentParser:
    """All commands with their options."""
    top = argparse.ArgumentParser(prog="build.py", description=DESCRIPTION)
    commands = top.add_subparsers(dest="command", required=True, metavar="serve | build | test | bench")
    server = commands.add_parser("serve", help="build, serve on this machine and open the page")
    server.add_argument("--port", type=int, help="the port to use (without it: 8000, or a free one)")
    server.add_argument("--no-open", action="store_true", help="do not open a browser")
    builder = commands.add_parser("build", help="write dist/ and dist/attention-lab.html")
    builder.add_argument(
        "--with-model",
        action="store_true",
        help="put the trained model (15 MB) into dist/; fetches 84 MB once",
    )
    tests = commands.add_parser(
        "test",
        help="run the unit tests in CPython and in Pyodide, and the browser tests",
        description=testing.__doc__,
        usage="build.py test [--suite NAME] [pytest arguments ...]",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    tests.add_argument(
        "--suite", action="append", choices=list(testing.SUITES), help="only this suite (may be repeated)"
    )
    speed = commands.add_parser("bench", help="measure start, edits and memory beside stock baselines")
    speed.add_argument("--pairs", type=int, default=7, help="how often each pair is measured (at least 7)")
    speed.add_argument("--json", action="store_true", help="print the result for machines")
    speed.add_argument("--only", choices=["chromium", "firefox", "webkit"], help="only this browser")
    speed.add_argument("--readme", action="store_true", help="put the table into README.md")
    return top


def main(arguments: list[str] | None = None) -> int:
    """Run one command; the exit code."""
    commands = parser()
    options, more = commands.parse_known_args(arguments)
    if more and options.command != "test":
        commands.error(f"unknown arguments: {' '.join(more)}")
    try:
        if options.command == "test":
            return testing.test(more, options.suite)
        if options.command == "build":
            build(with_model=options.with_model)
        elif options.command == "bench":
            from .bench import bench  # only here: nothing else needs it

            return bench(options.pairs, options.json, options.only, options.readme)
        elif options.command == "serve":
            serve(build(with_model=model.is_cached(ROOT / "py")), options.port, not options.no_open)
    except BuildError as error:
        say(f"build.py: {error}")
        return 1
    except KeyboardInterrupt:
        say("Stopped.")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
