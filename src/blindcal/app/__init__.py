"""The local web application: two rooms in a browser, on this machine alone. An edge of the core.

In: what a person moves, opens and chooses in a page. Out: pages, numbers and downloads, all made by the
functions that the command line uses. *Pair* (`sliders`) is about two papers and two reviewers; *Conference*
works on a conference's folder: `desks` keeps what is open, `steps` are those of the commands, files come in
by `uploads`, long work is in `jobs`, and `views` words it all. `guards` decides who may ask, `routes`
answers, `servers` listens. Nothing here makes a number or a key of its own.
Imports: folders and below; FastAPI, uvicorn and Jinja2.
"""

__all__ = []
