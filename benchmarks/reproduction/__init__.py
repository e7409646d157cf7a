"""The paper's experiments again, with ours beside them: sweeps, ablation, claims, figures, one page.

    studies -> methods -> runs.csv (resumable, many processes) -> tables (CSV) -> claims, figures, page

Computing needs no plotting library and drawing needs nothing but the tables, so the two may happen on
different machines. Everything here is simulation: points lie in the open and coins come from seeds.
"""

from benchmarks.reproduction.run import main

__all__ = ["main"]
