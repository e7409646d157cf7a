"""The page: figures, tables, claims and the command, as one HTML file and as Markdown for the docs."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from benchmarks.reproduction.claims import Claim, check_claims, ratios
from benchmarks.reproduction.figures import STEPS, draw_ablation, draw_sweep, label_of
from benchmarks.reproduction.studies import ABLATION, Setting, Sweep
from benchmarks.reproduction.tables import MARK, Point, read_table
from tools.markdown import reflowed

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse;font-size:.85rem;display:block;overflow-x:auto}"
    "td,th{border-bottom:1px solid #ddd;padding:.25rem .6rem;text-align:right;white-space:nowrap}"
    "td:first-child,th:first-child{text-align:left}svg{width:100%;height:auto}"
    "code{background:#f3f3f3;padding:.1rem .3rem}"
)
_MARK = {True: "✓", False: "✗", None: "–"}


def _mark(claim: Claim) -> str:
    return "~ (not clearly)" if claim.holds and not claim.clear else _MARK[claim.holds]


def draw_all(
    folder: Path, sweeps: Sequence[Sweep], base: Setting | None, command: str, pages: Path
) -> tuple[list[Claim], list[Path]]:
    """Draw every figure and write the page, all from the tables in `folder`.

    Parameters
    ----------
    folder : Path
        Where the tables are, and where claims and `report.html` go.
    sweeps : sequence of Sweep
        What the tables are of.
    base : Setting or None
        The setting that all sweeps but one vary; None for a grid of one's own, without ablation and claims.
    command : str
        What made the tables, for the page.
    pages : Path
        Where the figures and the Markdown page go.

    Returns
    -------
    claims : list of Claim
        Also written to `claims.csv`.
    paths : list of Path
        The files written.
    """
    tables = {sweep.name: read_table(folder / f"sweep-{sweep.name}.csv") for sweep in sweeps}
    steps = read_table(folder / "ablation.csv") if base else []
    paths = [path for sweep in sweeps for path in draw_sweep(folder, sweep, pages)]
    paths += draw_ablation(folder, base, pages) if base else []
    claims = check_claims(tables) if base else []
    paths += [_write_claims(folder, claims), folder / "report.html", pages / "index.md"]
    grids = [
        (f"figure-{s.name}", f"Objective against {s.title}", sweep_grid(s, tables[s.name]))
        for s in sweeps
        if tables[s.name]
    ]
    if steps:
        grids.append(("figure-ablation", "From the paper's algorithm to ours", ablation_grid(steps)))
    words = former_words([*(point for points in tables.values() for point in points), *steps])
    paths[-2].write_text(_html(pages, claims, grids, command, words), encoding="utf-8")
    paths[-1].write_text(_markdown(claims, grids, command, words), encoding="utf-8")
    return claims, paths


def former_words(points: Sequence[Point]) -> str:
    """Return what a reader must know where some runs are of a former design; else nothing."""
    methods = dict.fromkeys(point.method for point in points if point.is_former)
    if not methods:
        return ""
    return (
        f"Figures with {MARK} are of runs that were played by a former design or by former code: "
        f"{', '.join(f'`{name}`' for name in methods)}. The command plays them again."
    )


def sweep_grid(sweep: Sweep, points: list[Point]) -> list[list[str]]:
    """Return a sweep as rows of text: a column a value of the abscissa, a row a method, then the ratio."""
    values = list(dict.fromkeys(point.value for point in points))
    cells = {(point.method, point.value): point for point in points}
    rows = [[f"{sweep.field} =", *values]]
    shown = [method for method in sweep.methods if any((method, value) in cells for value in values)]
    rows += [
        [label_of(method), *(_figures(cells.get((method, value))) for value in values)] for method in shown
    ]
    if ratio := ratios(points):
        rows.append(["lsh-tree / codeword", *(f"{ratio[v]:.1f}" if v in ratio else "–" for v in values)])
    return rows


def ablation_grid(points: list[Point]) -> list[list[str]]:
    """Return the ablation as rows of text."""
    values = list(dict.fromkeys(point.value for point in points))
    cells = {(point.method, point.value): point for point in points}
    rows = [["step", *(value.replace("eps", "ε") for value in values)]]
    rows += [[STEPS[step], *(_figures(cells.get((step, value))) for value in values)] for step in ABLATION]
    return rows


def _figures(point: Point | None) -> str:
    if point is None:
        return "–"
    return f"{point.mean:.4f} ± {point.deviation:.4f}{f' {MARK}' if point.is_former else ''}"


def _write_claims(folder: Path, claims: Iterable[Claim]) -> Path:
    path = folder / "claims.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["claim", "holds", "figures", "statement"])
        writer.writerows(
            [
                claim.name,
                claim.verdict,
                claim.figures,
                claim.statement,
            ]
            for claim in claims
        )
    return path


def _html(
    pages: Path, claims: list[Claim], grids: list[tuple[str, str, list[list[str]]]], command: str, note: str
) -> str:
    parts = [
        '<!doctype html><html lang="en"><meta charset="utf-8">',
        "<title>coterie: the paper's experiments</title>"
        f"<style>{_STYLE}</style><h1>The paper's experiments, with ours beside them</h1>",
        "<p>Mean and standard deviation of the normalized k-means objective; lower is better. The command: "
        f"<code>{escape(command)}</code></p>{f'<p>{escape(note)}</p>' if note else ''}<h2>Claims</h2><ul>",
        *(
            f"<li>{_mark(claim)} <b>{escape(claim.name)}</b>: {escape(claim.statement)} "
            f"({escape(claim.figures)})</li>"
            for claim in claims
        ),
        "</ul>",
    ]
    for stem, title, rows in grids:
        drawing = (pages / f"{stem}.svg").read_text(encoding="utf-8")
        parts.append(f"<h2>{escape(title)}</h2>{drawing[drawing.index('<svg') :]}<table>")
        for number, row in enumerate(rows):
            cell = "td" if number else "th"
            parts.append("<tr>" + "".join(f"<{cell}>{escape(text)}</{cell}>" for text in row) + "</tr>")
        parts.append("</table>")
    return "".join(parts) + "</html>\n"


def _markdown(
    claims: list[Claim], grids: list[tuple[str, str, list[list[str]]]], command: str, note: str
) -> str:
    lines = [
        "# The paper's experiments, with ours beside them",
        "",
        "*For researchers.*",
        "",
        "Mean and standard deviation of the normalized k-means objective over the runs; lower is better.",
        "`lsh-tree` is our implementation of the paper's algorithm; the paper's own runs are not public.",
        "Every number and figure on this page is written by",
        "",
        "<!-- no-run: hours -->",
        "```sh",
        command,
        "```",
        "",
        "from `runs.csv`; with `--draw-only` it redraws all of it from the tables alone.",
        *(["", note] if note else []),
        "",
        "## Claims",
        "",
        "| | claim | figures |",
        "|---|---|---|",
        *(f"| {_mark(claim)} | **{claim.name}**: {claim.statement} | {claim.figures} |" for claim in claims),
    ]
    for stem, title, rows in grids:
        lines += ["", f"## {title}", "", f"![{title}]({stem}.svg)", ""]
        lines += ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
        lines += ["| " + " | ".join(row) + " |" for row in rows[1:]]
    return reflowed("\n".join(lines) + "\n")
