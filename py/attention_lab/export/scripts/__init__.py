"""Programs that compute the same numbers again, one file per framework, and the pieces they share."""
