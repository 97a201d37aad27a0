"""The only package that may touch the browser."""
