"""A folder of runs in the browser, with a report of each."""
