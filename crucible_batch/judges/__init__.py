"""Judges: they say whether an answer makes a statement, and how relevant a document is."""
