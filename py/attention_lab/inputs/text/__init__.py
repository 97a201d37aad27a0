"""The readers behind inputs/paste.py: one file for each form of text, and what they share."""
