"""How much of the evidence a question needs is in what memory hands back, on public sets of conversations.

    python -m retentive.evaluate locomo --data locomo10.json --top 10 --budget 1500
    python -m retentive.evaluate longmemeval --data longmemeval_s.json --json figures.json

The data sets are not part of the package; `docs/evaluation.md` says what is measured and where they come from.

A program, not a library: what its modules have is named nowhere else, and changes without notice.
"""
