"""LeRobot datasets, formats v2.0, v2.1 and v3.0, read where they lie and without that library."""
