"""Fetch the pinned runtime, build the site and the single file, serve them, test them.

Standard library only, so that `build.py` runs on any Python >= 3.11. NumPy is used in one place,
the prerendering, which runs in a private virtual environment (see `prerender.py`).
"""
