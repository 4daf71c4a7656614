"""Reports that need more than a result: intervals, tests over horizons, decoded videos."""
