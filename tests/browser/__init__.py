"""Lessons in a real browser: one JupyterLab server and one Chromium for all of them."""
