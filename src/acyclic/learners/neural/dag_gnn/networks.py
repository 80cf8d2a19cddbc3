"""The two networks of DAG-GNN, x ↦ W₂ ReLU(W₁x + b₁) + b₂ on columns of values, with gradients written out."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor


class Networks(Protocol):
    """Encoder and decoder: one pass there, then one back, in the order of the methods."""

    def encode(self, x: Tensor) -> Tensor:
        """Features (latent, N) of values (channels, N)."""

    def decode(self, features: Tensor) -> Tensor:
        """Values (channels, N) of features (latent, N)."""

    def pull_back(self, slope: Tensor) -> Tensor:
        """The slope of the loss at the features (latent, N), from that at the decoded values (channels, N)."""

    def finish(self, slope: Tensor) -> None:
        """Set the gradient of all weights, given the slope at the features."""


class DenseNetworks:
    """Networks for any number of channels, by matrix products."""

    def __init__(self, weights: list[Tensor], gradient: list[Tensor]) -> None:
        self.encoder, self.decoder = (weights[:4], gradient[:4]), (weights[4:], gradient[4:])

    def encode(self, x: Tensor) -> Tensor:
        """See Networks."""
        self.x, (W1, b1, W2, b2) = x, self.encoder[0]
        self.inside = torch.addmm(b1[:, None], W1, x).relu_()
        return torch.addmm(b2[:, None], W2, self.inside)

    def decode(self, features: Tensor) -> Tensor:
        """See Networks."""
        self.features, (W1, b1, W2, b2) = features, self.decoder[0]
        self.outside = torch.addmm(b1[:, None], W1, features).relu_()
        return torch.addmm(b2[:, None], W2, self.outside)

    def pull_back(self, slope: Tensor) -> Tensor:
        """See Networks."""
        inner = self._gradient(*self.decoder, self.features, self.outside, slope)
        return self.decoder[0][0].T @ inner

    def finish(self, slope: Tensor) -> None:
        """See Networks."""
        self._gradient(*self.encoder, self.x, self.inside, slope)

    @staticmethod
    def _gradient(weights: list[Tensor], gradient: list[Tensor], x: Tensor, active: Tensor, slope: Tensor) -> Tensor:
        dW1, db1, dW2, db2 = gradient
        torch.mm(slope, active.T, out=dW2)
        torch.sum(slope, 1, out=db2)
        inner = (weights[2].T @ slope).mul_(active > 0)
        torch.mm(inner, x.T, out=dW1)
        torch.sum(inner, 1, out=db1)
        return inner


class PiecewiseLinearNetworks:
    """Networks of one channel and one feature: straight lines between the kinks −b₁/W₁ of their m hidden units.

    Each value is looked up among the sorted kinks instead of passing through every unit, and gradients are sums over
    the values on one side of a kink: O(N log m), where products are O(N m). At a kink itself, where a network has no
    derivative, it takes that of one side. Lookups are fastest where neighbouring values are close to each other.

    Parameters
    ----------
    weights, gradient : Tensor (2, 3m + 1)
        W₁, b₁, W₂ and b₂ of encoder and decoder.
    """

    def __init__(self, weights: Tensor, gradient: Tensor) -> None:
        m = weights.shape[1] // 3
        (self.lines, self.W2, self.b2), (self.d_lines, self.dW2, self.db2) = (
            (of[:, : 2 * m].view(2, 2, m), of[:, None, 2 * m : 3 * m], of[:, 3 * m]) for of in (weights, gradient)
        )
        self.kinks = torch.empty(2, m, dtype=weights.dtype, device=weights.device)
        self.order = torch.empty(2, m, dtype=torch.int64, device=weights.device)
        self.pieces, self.sums = torch.empty(2, 2, 2, m + 1, dtype=weights.dtype, device=weights.device)
        # To make a view costs as much as a small product: all that a step needs are made once.
        self.W1, self.b1 = self.lines.unbind(1)
        self.slopes, self.orders = self.lines[:, :1], self.order[:, None].expand(2, 2, m)
        self.first, self.others, self.level = self.pieces[..., 0], self.pieces[..., 1:], self.pieces[:, 1, 0]
        self.below, self.totals, self.total_slopes = self.sums[..., :-1], self.sums[..., -1:], self.sums[:, 1, -1]
        self.of_network = [(*self.pieces[i], self.kinks[i], self.sums[i]) for i in range(2)]

    def encode(self, x: Tensor) -> Tensor:
        """See Networks."""
        lines = self.lines * self.W2
        self.falls = torch.signbit(self.slopes)
        torch.sort(torch.div(self.b1, self.W1).neg_(), out=(self.kinks, self.order))
        torch.sum(lines * self.falls, -1, out=self.first)
        self.level.add_(self.b2)
        torch.gather(torch.where(self.falls, -lines, lines), -1, self.orders, out=self.others)
        self.pieces.cumsum_(-1)
        return self._evaluate(0, x)

    def decode(self, features: Tensor) -> Tensor:
        """See Networks."""
        self.encoded = self.x, self.piece
        return self._evaluate(1, features)

    def pull_back(self, slope: Tensor) -> Tensor:
        """See Networks."""
        self._add_up(1, self.x, self.piece, slope)
        return torch.mul(slope, self.tilt)

    def finish(self, slope: Tensor) -> None:
        """See Networks."""
        self._add_up(0, *self.encoded, slope)
        self.sums.cumsum_(-1)
        below = torch.empty_like(self.lines).scatter_(-1, self.orders, self.below)
        active = torch.where(self.falls, below, self.totals - below)
        torch.mul(self.W2, active, out=self.d_lines)
        torch.sum(active.mul_(self.lines), 1, keepdim=True, out=self.dW2)
        self.db2.copy_(self.total_slopes)

    def _evaluate(self, network: int, x: Tensor) -> Tensor:
        tilts, levels, kinks, _ = self.of_network[network]
        self.x, self.piece = x, torch.bucketize(x.view(-1), kinks)
        self.tilt = tilts.index_select(0, self.piece)
        return torch.addcmul(levels.index_select(0, self.piece), self.tilt, x)

    def _add_up(self, network: int, x: Tensor, piece: Tensor, slope: Tensor) -> None:
        """Sums (2, m + 1) over the values in each piece: of slope times value, and of the slope."""
        self.of_network[network][3].zero_().index_add_(1, piece, torch.cat([slope * x, slope]))
