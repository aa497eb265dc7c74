"""The local web application: a conference and a pair of papers in a browser, on this machine alone.

In: the sliders, files and choices of a person. Out: pages, numbers and downloads, all made by the functions
that the command line uses. *Pair* (`pair`) is about two papers and two reviewers; *Conference* works on a
conference's folder: `folder_state` reads it for each page, `session` runs the steps of `project` on
it, long ones as jobs, `pages` words it all. `guard` admits requests, `routes` answers them, `server` listens.
Open `routes` first. Imports: project and earlier; FastAPI, uvicorn and Jinja2.
"""

__all__ = []
