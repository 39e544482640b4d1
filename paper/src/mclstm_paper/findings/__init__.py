"""Every claim of the paper beside what we measured, with a verdict: docs/findings.md."""
