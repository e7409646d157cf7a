"""Benchmarks: accuracy and speed of the whole path, one command each."""
