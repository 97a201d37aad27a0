"""For teachers: worksheets with small integers, and checking what a student typed. No HTML and no browser."""
