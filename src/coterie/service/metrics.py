"""Figures for the operator's Prometheus: how many, how long, why not. No plan, address or id is a label."""

from __future__ import annotations

from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)

from coterie.service.studies import REASONS

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5)


disable_created_metrics()  # type: ignore[no-untyped-call]  # they would tell when the first report of a kind came


class Metrics:
    """One set of figures, of one service."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        counted = Counter(
            "coterie_reports", "Reports by what became of them", ["outcome"], registry=self.registry
        )
        self._reports = {each: counted.labels(each) for each in ("accepted", "withdrawn", *REASONS)}
        self._by_status = Counter("coterie_answers", "Answers by status", ["status"], registry=self.registry)
        self._answers: dict[int, Counter] = {}
        self._batches = Counter(
            "coterie_batches", "Batches by what became of them", ["outcome"], registry=self.registry
        )
        self._commits = Histogram(
            "coterie_commit_seconds", "Time of a commit", buckets=_SECONDS, registry=self.registry
        )
        self.waiting = Gauge(
            "coterie_waiting_bytes", "Reports that wait for the disk", registry=self.registry
        )

    def reports(self, outcome: str, number: int) -> None:
        """Count reports."""
        self._reports[outcome].inc(number)

    def batch(self, outcome: str) -> None:
        """Count a batch."""
        self._batches.labels(outcome).inc()

    def answer(self, status: int) -> None:
        """Count an answer."""
        if (counter := self._answers.get(status)) is None:
            counter = self._answers[status] = self._by_status.labels(str(status))
        counter.inc()

    def commit(self, seconds: float) -> None:
        """Count a commit."""
        self._commits.observe(seconds)

    def page(self) -> bytes:
        """Return the figures in Prometheus's text format."""
        return generate_latest(self.registry)
