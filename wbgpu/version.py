"""The version, in a module of its own so that stages can read it without the SDK."""

__version__ = "0.1.0"
