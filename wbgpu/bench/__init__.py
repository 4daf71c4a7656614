"""The bench: external models forecast worlds over HTTP and never see the truth; docs/bench.md."""
