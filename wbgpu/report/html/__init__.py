"""Results and verdicts as self-contained HTML pages: no script, nothing from the network."""
