"""Results for people: one self-contained HTML page, the folder of a run, a figure."""

from acyclic.report.page import report

__all__ = ["report"]
