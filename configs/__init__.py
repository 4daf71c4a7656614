"""Hydra configuration groups, installed as ``wbgpu.configs`` (``pkg://wbgpu.configs``)."""
