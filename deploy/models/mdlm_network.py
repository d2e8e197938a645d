# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""The network of train_mdlm.py."""
import dataclasses, math
import torch
import torch.nn as nn
import torch.nn.functional as F

HAS_SDPA = hasattr(F, "scaled_dot_product_attention")


@dataclasses.dataclass
class Config:
    vocab: int = 8192
    d: int = 512
    layers: int = 8
    heads: int = 8
    kv_heads: int = 8
    ffn: int = 1536            # a multiple of 256 keeps every K-quant possible
    ctx: int = 512
    rope_theta: float = 10000.0
    rms_eps: float = 1e-5
    mask_id: int = 4
    eot_id: int = 0
    tied: bool = True
    dropout: float = 0.0


class RMSNorm(nn.Module):
    def __init__(self, d, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))
        self.eps = eps

    def forward(self, x):
        y = x.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + self.eps)
        return (y * self.weight).to(x.dtype)


def rope_tables(n, head_dim, theta, device):
    inv = theta ** (-torch.arange(0, head_dim, 2, device=device, dtype=torch.float64) / head_dim)
    ang = torch.arange(n, device=device, dtype=torch.float64)[:, None] * inv[None, :]
    return ang.cos().float(), ang.sin().float()          # each [n, head_dim/2]


def apply_rope(x, cos, sin):                              # x [B,H,T,hd]; pairs are (i, i+hd/2): NEOX
    a, b = x.float().chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1).to(x.dtype)


class Block(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.c, self.hd = c, c.d // c.heads
        self.attn_norm, self.ffn_norm = RMSNorm(c.d, c.rms_eps), RMSNorm(c.d, c.rms_eps)
        self.q = nn.Linear(c.d, c.heads * self.hd, bias=False)
        self.k = nn.Linear(c.d, c.kv_heads * self.hd, bias=False)
        self.v = nn.Linear(c.d, c.kv_heads * self.hd, bias=False)
        self.o = nn.Linear(c.heads * self.hd, c.d, bias=False)
        self.gate = nn.Linear(c.d, c.ffn, bias=False)
        self.up = nn.Linear(c.d, c.ffn, bias=False)
        self.down = nn.Linear(c.ffn, c.d, bias=False)

    def attend(self, q, k, v, attn_mask, causal):
        rep = self.c.heads // self.c.kv_heads
        if rep > 1:
            k, v = k.repeat_interleave(rep, dim=1), v.repeat_interleave(rep, dim=1)
        if HAS_SDPA:
            return F.scaled_dot_product_attention(q, k, v, attn_mask=attn_mask, is_causal=causal)
        s = (q @ k.transpose(-1, -2)).float() / math.sqrt(self.hd)     # torch < 2.0 (smoke tests only)
        if causal:
            n = s.shape[-1]
            attn_mask = torch.ones(n, n, dtype=torch.bool, device=s.device).tril()
        if attn_mask is not None:
            s = s.masked_fill(~attn_mask, float("-inf"))
        return s.softmax(-1).to(v.dtype) @ v

    def forward(self, x, cos, sin, attn_mask, causal):
        B, T, _ = x.shape
        h = self.attn_norm(x)
        q = self.q(h).view(B, T, self.c.heads, self.hd).transpose(1, 2)
        k = self.k(h).view(B, T, self.c.kv_heads, self.hd).transpose(1, 2)
        v = self.v(h).view(B, T, self.c.kv_heads, self.hd).transpose(1, 2)
        y = self.attend(apply_rope(q, cos, sin), apply_rope(k, cos, sin), v, attn_mask, causal)
        y = self.o(y.transpose(1, 2).reshape(B, T, -1))
        x = x + F.dropout(y, self.c.dropout, self.training)
        h = self.ffn_norm(x)
        y = self.down(F.silu(self.gate(h)) * self.up(h))
        return x + F.dropout(y, self.c.dropout, self.training)


class Net(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.c = c
        self.emb = nn.Embedding(c.vocab, c.d)
        self.blocks = nn.ModuleList([Block(c) for _ in range(c.layers)])
        self.norm = RMSNorm(c.d, c.rms_eps)
        self.head = None if c.tied else nn.Linear(c.d, c.vocab, bias=False)
        for m in self.modules():
            if isinstance(m, (nn.Linear, nn.Embedding)):
                nn.init.normal_(m.weight, std=0.02)
        for b in self.blocks:                              # residual outputs scaled by depth
            for w in (b.o.weight, b.down.weight):
                nn.init.normal_(w, std=0.02 / math.sqrt(2 * c.layers))

    def hidden(self, ids, cos, sin, attn_mask=None, causal=False):
        x = self.emb(ids)
        if x.is_cuda:
            x = x.to(torch.bfloat16)                       # bf16 residual stream on the GPU
        for b in self.blocks:
            x = b(x, cos, sin, attn_mask, causal)
        return self.norm(x)

    def logits(self, h):
        return F.linear(h, self.emb.weight if self.head is None else self.head.weight)

    def token_losses(self, ids, idx, target, cos, sin, attn_mask=None, causal=False):
        """Cross-entropy of `target` at the flat positions `idx` (static length, so one compiled graph).
        The MASK column stays inside the softmax on purpose: it is never a target, so the model learns to
        give it no mass, and samplers that do not suppress it (llama.cpp's) never emit it."""
        h = self.hidden(ids, cos, sin, attn_mask, causal).reshape(-1, self.c.d)[idx]
        return F.cross_entropy(self.logits(h).float(), target, reduction="none")
