"""The vocabulary: frozen dataclasses through which the stages meet, and strict JSON.

Nothing here imports torch, hydra or another stage.
"""
