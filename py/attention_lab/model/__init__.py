"""A trained encoder in plain NumPy: pieces of words, layers, heads. Imported only when a reader asks for a real head."""
