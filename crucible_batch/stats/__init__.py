"""Resampling, tests, verdicts and agreement: NumPy arrays in, numbers out, no frames, no files."""
