"""What is on disk: which videos are episodes, how they pair up, and their digests."""
