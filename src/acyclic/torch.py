"""DAG constraints for networks that are trained with torch; needs ``pip install 'acyclic[neural]'``.

>>> import torch, acyclic
>>> acyclic.torch.dag_constraint(torch.zeros(3, 3)).item()
0.0
"""

from acyclic.errors import MissingExtraError

try:
    from acyclic.constraints.autograd import dag_constraint
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise MissingExtraError("acyclic.torch", "torch", "neural") from None

__all__ = ["dag_constraint"]
