"""wbgpu: did this world-model checkpoint get better or worse, where, and are we sure?"""

__version__ = "0.1.0"
