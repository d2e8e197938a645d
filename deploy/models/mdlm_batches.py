# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""The batches of train_mdlm.py: crops of the token stream, and the masks on them."""
import glob, gzip, lzma, math, sys
import numpy as np
import torch

from mdlm_network import HAS_SDPA


# ------------------------------------------------------------------------------------------------ noise
def stratified(n, device, gen=None):
    u = (torch.arange(n, device=device) + torch.rand(n, device=device, generator=gen)) / n
    return u[torch.randperm(n, device=device, generator=gen)]


def corrupt(x0, mask_id, gen=None, block=0):
    """Exact-count masking.  Returns (xt, mask [B,L], w [B,L] = length/k of each position's row or block)."""
    B, L = x0.shape
    lb = block or L
    rows = B * (L // lb)
    u = stratified(rows, x0.device, gen)
    k = (u * lb).ceil().clamp(1, lb)                                    # uniform on 1..lb
    rank = torch.rand(rows, lb, device=x0.device, generator=gen).argsort(1).argsort(1)
    mask = (rank < k[:, None]).view(B, L)
    w = (lb / k)[:, None].expand(rows, lb).reshape(B, L)
    return torch.where(mask, torch.full_like(x0, mask_id), x0), mask, w


def capacity(B, L, block=0):
    lb = block or L
    rows = B * (L // lb)
    c = B * L / 2 + rows / 2 + 8 * lb / math.sqrt(12 * rows) + lb      # the sum's spread is lb/sqrt(12 rows)
    return min(B * L, (int(c) + 127) // 128 * 128)


def pick(mask, cap):
    """Flat indices of the masked positions first, padded with unmasked ones (weight 0) up to `cap`."""
    return torch.argsort(mask.reshape(-1).to(torch.uint8), descending=True, stable=True)[:cap] \
        if HAS_SDPA else torch.sort(mask.reshape(-1).to(torch.uint8), descending=True, stable=True)[1][:cap]


def source(idx, L, shift):
    """Flat positions whose hidden state predicts the tokens at `idx`: the same, or the left neighbour
    (AR-style shift; the first position of a row predicts itself, as in Dream)."""
    return torch.where(idx % L > 0, idx - 1, idx) if shift else idx


def source_bd(idx, L, lb, shift):
    """The same for rows [x_t ; x_0] of length 2L. With the shift, a block's first token is predicted by the clean
    token before it (at inference: the last token of the cached block), the others by their noisy left neighbour."""
    row, i = idx // L * (2 * L), idx % L
    if not shift:
        return row + i
    return row + torch.where(i == 0, i, torch.where(i % lb == 0, L + i - 1, i - 1))


def block_mask(L, lb, device):
    """BD3-LM training mask for the input [x_t ; x_0] (2L x 2L): x_t sees its own noisy block and the clean
    blocks before it; x_0 is block-causal."""
    blk = torch.arange(L, device=device) // lb
    blk, clean = torch.cat((blk, blk)), torch.arange(2 * L, device=device) >= L
    qb, kb, qc, kc = blk[:, None], blk[None, :], clean[:, None], clean[None, :]
    return (~qc & ~kc & (qb == kb)) | (~qc & kc & (kb < qb)) | (qc & kc & (kb <= qb))


# ------------------------------------------------------------------------------------------------ data
def load_tokens(pattern):
    files = sorted(f for p in pattern.split(",") for f in glob.glob(p))
    if not files:
        sys.exit(f"no shard matches {pattern}")
    parts = []
    for f in files:
        op = lzma.open if f.endswith(".xz") else gzip.open if f.endswith(".gz") else open
        with op(f, "rb") as fh:
            parts.append(np.frombuffer(fh.read(), dtype="<u2"))
    return np.concatenate(parts)


class Crops:
    """Epochs of shuffled, randomly shifted, non-overlapping crops; the tokens live on the device."""
    def __init__(self, tokens, L, device, seed):
        self.t = torch.from_numpy(tokens.astype(np.int32)).to(device)
        self.L, self.rng, self.device = L, np.random.default_rng(seed), device
        self.order, self.pos, self.epoch, self.seen = np.empty(0, np.int64), 0, 0, 0

    def next(self, B):
        starts = []
        while len(starts) < B:
            if self.pos >= len(self.order):
                shift = int(self.rng.integers(0, self.L))
                n = (len(self.t) - shift) // self.L
                self.order, self.pos = shift + self.L * self.rng.permutation(n), 0
                self.epoch += 1
            take = self.order[self.pos:self.pos + B - len(starts)]
            starts.extend(take.tolist())
            self.pos += len(take)
        self.seen += B * self.L
        s = torch.tensor(starts, device=self.device)[:, None] + torch.arange(self.L, device=self.device)
        return self.t[s].long()
