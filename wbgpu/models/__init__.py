"""World models that an evaluation can run: the protocol, simple predictors, checkpoints."""

from wbgpu.models.action_conditioned import ActionConditioned
from wbgpu.models.blur import Blur
from wbgpu.models.check_model import check_model
from wbgpu.models.checkpoint import load_model, load_state
from wbgpu.models.context_mean import ContextMean
from wbgpu.models.copy_last import CopyLast
from wbgpu.models.world_model import Prediction, Tokenizer, Tokens, WorldModel, to_uint8

__all__ = [
    "ActionConditioned",
    "Blur",
    "ContextMean",
    "CopyLast",
    "Prediction",
    "Tokenizer",
    "Tokens",
    "WorldModel",
    "check_model",
    "load_model",
    "load_state",
    "to_uint8",
]
