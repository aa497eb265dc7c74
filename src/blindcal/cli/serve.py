"""`blindcal app`: any conference in a browser."""

from __future__ import annotations

import sys
import webbrowser
from pathlib import Path

from blindcal.cli.console import emit_json, note, say
from blindcal.cli.options import Processes, argument, flag, number_of, numeric, whole
from blindcal.cli.startup import terminations_as_interrupts, without_time_limit
from blindcal.errors import InputError


@terminations_as_interrupts()
def serve(
    folder: Path | None = argument(
        "A folder that `blindcal new` made, to open; or the name of one to make in the browser.", default=None
    ),
    port: int = numeric(whole, "The port; any that is free unless given.", default=0),
    no_browser: bool = flag("Print the address and open no browser.", "--no-browser"),
    processes: Processes = None,
) -> None:
    """Run a whole conference in a browser, or play with one pair of papers.

    Everything stays on this machine: the server listens on 127.0.0.1 only and answers only requests that
    carry the token in the printed address. It works on a conference's folder, with the key that
    lies beside it, and does what the commands do. New folders are made beside FOLDER, or in the current
    folder. It runs until Ctrl-C.

    Example: blindcal app icx2027
    """
    try:
        from blindcal.app.server import listen, write_redirect
        from blindcal.app.session import Session
    except ImportError as error:
        raise InputError(f"the app needs {error.name}: pip install 'blindcal[app]'") from None
    if port < 0:
        raise InputError(f"--port must be at least 0, found {port}")
    home = Path() if folder is None else folder.parent
    if not home.is_dir():
        raise InputError(f"{home} must be a folder that exists")
    session = Session(home, folder, workers=number_of(processes))
    try:
        server = listen(session, port)
    except InputError:
        session.close()
        raise
    try:
        emit_json({"address": server.address, "port": server.port})
        say(f"open {server.address}")
        say("Keep the address secret: anyone on this machine who has it can see what is open here.")
        say("Ctrl-C ends it.")
        if not no_browser and not webbrowser.open(write_redirect(server.address, session.private).as_uri()):
            note("no browser could be started: open the address yourself")
        sys.stdout.flush()
        without_time_limit()
        server.run()
    except KeyboardInterrupt:
        say("ended")
    finally:
        server.close()
        session.close()
