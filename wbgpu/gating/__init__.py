"""From a comparison to PASS or FAIL: thresholds, one rule per function, and the verdict."""
