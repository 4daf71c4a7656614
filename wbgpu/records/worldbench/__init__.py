"""worldbench's file formats; nothing outside this package knows their key names."""

from wbgpu.records.worldbench.evaluation import evaluation_payload
from wbgpu.records.worldbench.gate import gate_payload
from wbgpu.records.worldbench.horizons import horizon_label
from wbgpu.records.worldbench.reader import parse_result
from wbgpu.records.worldbench.writer import batch_payload

__all__ = ["batch_payload", "evaluation_payload", "gate_payload", "horizon_label", "parse_result"]
