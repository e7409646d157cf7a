"""The paper's experiments again, with ours beside them: sweeps, ablation, claims, figures, one page.

    studies -> methods -> runs.csv (resumable, many processes) -> tables (CSV) -> claims, figures, page

Computing needs no plotting library and drawing needs nothing but the tables, so the two may happen on
different machines. Everything here is simulation: points lie in the open and coins come from seeds.
"""


def main() -> None:
    """Play what is missing, write the tables, draw. Loaded then: parts of it need no protocol."""
    from benchmarks.reproduction import run

    run.main()
