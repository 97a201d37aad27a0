"""Where Q, K and V come from: text, files, examples, sentences."""
