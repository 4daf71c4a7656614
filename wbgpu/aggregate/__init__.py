"""Suite summaries, their verification, paired comparison and its confidence interval.

Nothing here imports torch.
"""
