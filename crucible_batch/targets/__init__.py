"""Pipelines that Crucible can run itself: they answer questions and say what they retrieved."""
