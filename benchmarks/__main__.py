"""Run all benchmarks: speed (a few minutes), then accuracy (about an hour on two cores; it resumes)."""

from __future__ import annotations

from benchmarks import accuracy, speed

if __name__ == "__main__":
    speed.main()
    accuracy.main()
