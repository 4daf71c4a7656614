"""The evaluation loop: decode, compute statistics, score every horizon, collect the result."""
