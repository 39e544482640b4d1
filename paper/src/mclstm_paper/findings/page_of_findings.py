"""The table of docs/findings.md: every claim, what we found under both protocols, and how many hold."""

from collections import Counter
from pathlib import Path

from mclstm.report.markdown import NOTHING, text_table
from mclstm_paper.findings.evidence import HOLDS, NOT, OPEN, Measured
from mclstm_paper.findings.paper_claims import CLAIMS, PaperClaim
from mclstm_paper.protocols import PROTOCOLS

__all__ = ["findings", "verdicts"]

PLURAL = {HOLDS: "hold", NOT: "do not hold", OPEN: "are not settled"}


def findings(root: Path) -> str:
    """How many claims hold, then one line for each."""
    lines = [line(claim, root / "results") for claim in CLAIMS]
    head = ["the paper says", "section", *PROTOCOLS, "test"]
    return f"{verdicts(root)}\n\n{text_table(head, lines)}"


def verdicts(root: Path) -> str:
    """The number of claims by verdict, one sentence per protocol; claims that are proven count as stated."""
    sentences = []
    for protocol in PROTOCOLS:
        found = [claim.evidence(root / "results", protocol) for claim in CLAIMS]
        counts = Counter(one.verdict for one in found if one is not None)
        parts = ", ".join(f"{counts[word]} {words}" for word, words in PLURAL.items())
        sentences.append(f"{protocol.capitalize()}: {parts}; not measured: {found.count(None)}.")
    return f"{len(CLAIMS)} claims. {' '.join(sentences)}"


def line(claim: PaperClaim, results: Path) -> list[str]:
    """The cells of a claim."""
    found = [claim.evidence(results, protocol) for protocol in PROTOCOLS]
    tests = dict.fromkeys(one.test for one in found if one is not None)
    return [claim.text, claim.where, *(cell(one) for one in found), "; ".join(tests) or NOTHING]


def cell(found: Measured | None) -> str:
    """The verdict, the numbers, and how many there are of what is repeated.

    >>> cell(Measured("holds", "p = 0.01", "Wilcoxon", 20)), cell(None)
    ('**holds**: p = 0.01 (n = 20)', '–')
    """
    if found is None:
        return NOTHING
    count = "" if found.n is None else f" (n = {found.n:,})"
    return f"**{found.verdict}**: {found.text}{count}" if found.text else f"**{found.verdict}**{count}"
