"""Judging what a scan measured: plain values in, verdicts out; no frames, no files, no clock."""
