"""Results and verdicts as text for people: Markdown and plain console lines."""
