"""Re-check a result: that it agrees with itself, with its files, and with a fresh computation."""
