#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""The frozen model of round_arms.py with stacked cores in a frame, its masks and its losses."""
import torch
import torch.nn.functional as F

from frozen_network import LINEARS, read_gguf

LENGTH, EPSILON = 128, 1e-5
GROUPS = (("attn_q", "attn_k", "attn_v"), ("attn_output",), ("ffn_gate", "ffn_up"), ("ffn_down",))


def rms(x, weight):
    y = x.float()
    return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + EPSILON) * weight).to(x.dtype)


def add_rms(x, y, weight):
    x = x + y
    return x, rms(x, weight)


def rotate(x, cos, sin):
    a, b = x.float().chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1).to(x.dtype)


def swiglu(x):
    gate, up = x.chunk(2, dim=-1)
    return F.silu(gate) * up


FUSED = {f: torch.compile(f, dynamic=True) for f in (rms, add_rms, rotate, swiglu)}


class Nats(torch.autograd.Function):
    """The weighted sum of cross-entropies; its gradient is made in the forward pass."""

    @staticmethod
    def forward(ctx, hidden, head, targets, weights, nats):
        grad = torch.empty_like(hidden)
        for at in range(0, len(hidden), 16384):
            part = slice(at, at + 16384)
            logp = F.log_softmax(F.linear(hidden[part], head).float(), dim=-1)
            own = targets[part, None]
            nats[part] = -logp.gather(1, own)[:, 0]
            if not ctx.needs_input_grad[0]:
                continue
            p = logp.exp_()
            p.scatter_add_(1, own, torch.full_like(own, -1, dtype=p.dtype))
            grad[part] = (p * weights[part, None]).to(hidden.dtype) @ head
        ctx.save_for_backward(grad)
        return (nats * weights).sum()

    @staticmethod
    def backward(ctx, outer):
        return ctx.saved_tensors[0] * outer, None, None, None, None


class Network:
    """The frozen transformer (dream: half-split RoPE, row i predicts token i + 1)."""

    def __init__(self, model, frame, device, dtype=torch.bfloat16):
        meta, tensors = read_gguf(model)
        key = lambda name: meta["dream." + name]
        self.layers, self.width = key("block_count"), key("embedding_length")
        self.heads, self.kv_heads = key("attention.head_count"), key("attention.head_count_kv")
        self.hd = self.width // self.heads
        if abs(key("attention.layer_norm_rms_epsilon") - EPSILON) > 1e-7:
            raise SystemExit(f"{model} has another epsilon than {EPSILON}")
        self.mask, self.device, self.dtype = meta["tokenizer.ggml.mask_token_id"], device, dtype
        move = lambda t: t.to(device, dtype).contiguous()
        self.embedding = move(tensors["token_embd.weight"])
        self.head = move(tensors.get("output.weight", tensors["token_embd.weight"]))
        self.norms = {n: t.to(device) for n, t in tensors.items() if "norm" in n}
        theta = meta.get("dream.rope.freq_base", 10000.0)
        inv = theta ** (-torch.arange(0, self.hd, 2, dtype=torch.float64) / self.hd)
        angle = torch.arange(LENGTH, dtype=torch.float64)[:, None] * inv[None, :]
        self.cos, self.sin = angle.cos().float().to(device), angle.sin().float().to(device)
        names = lambda i, g: [f"blk.{i}.{n}" for n in GROUPS[g]]
        self.groups = [names(i, g) for i in range(self.layers) for g in range(4)]
        self.weights = [move(torch.cat([tensors[n + ".weight"] for n in group])) for group in self.groups]
        self.heights = {n: len(tensors[n + ".weight"]) for group in self.groups for n in group}
        self.modules = len(LINEARS) * self.layers
        _, given = read_gguf(frame)
        part = lambda n, x: given[f"{n}.weight.frame_{x}"].to(device)
        # Factors of each linear layer, one vector a row: P^T and Q
        self.frames = {"": {n: (part(n, "p"), part(n, "q")) for n in self.heights}}
        self.at = self.factors = self.seen = None

    def use_frame(self, frame, rank):
        """Takes the leading vectors: Q of a group's layers one above the other, and [W, P] as one matrix."""
        if self.at == (frame, rank):
            return
        self.at, self.factors = (frame, rank), []
        for weight, group in zip(self.weights, self.groups):
            q = torch.cat([self.frames[frame][n][1][:rank] for n in group])
            p = torch.block_diag(*[self.frames[frame][n][0][:rank] for n in group])
            self.factors.append((q.to(self.dtype), torch.cat((weight, p.T.to(self.dtype)), dim=1)))

    def linear(self, x, at, cores):
        """x: rows x in. The core of a run serves an equal part of the rows, in order."""
        if cores is None:
            y = F.linear(x, self.weights[at])
            return y if self.seen is None else self.observe(x, y, self.groups[at])
        q, wide = self.factors[at]
        runs, k, rank, _ = cores[at].shape
        z = F.linear(x, q).view(runs, -1, k, rank)
        u = torch.matmul(z.transpose(1, 2), cores[at].transpose(2, 3)).transpose(1, 2)
        return F.linear(torch.cat((x, u.reshape(-1, k * rank)), dim=1), wide)

    def observe(self, x, y, group):
        inputs = x.detach().float().T @ x.detach().float()

        def of_gradient(dy):
            for n, part in zip(group, dy.float().split([self.heights[n] for n in group], dim=1)):
                own = self.seen.setdefault(n, [0, 0])
                own[0], own[1] = own[0] + part.T @ part, own[1] + inputs

        y.register_hook(of_gradient)
        return y

    def hidden(self, tokens, cores):
        """tokens: sequences x LENGTH; cores: runs x modules x rank x rank, or None. The last sum is left open."""
        if cores is not None:
            cores = torch.split(cores.to(self.dtype), [len(g) for g in GROUPS] * self.layers, dim=1)
        x = F.embedding(tokens.reshape(-1), self.embedding)
        if self.seen is not None:
            x.requires_grad_()
        split = lambda y, n: y.reshape(-1, LENGTH, n, self.hd).transpose(1, 2)
        kv, gqa = self.kv_heads * self.hd, self.heads != self.kv_heads
        h = FUSED[rms](x, self.norms["blk.0.attn_norm.weight"])
        for i in range(self.layers):
            q, k, v = self.linear(h, 4 * i, cores).split([self.width, kv, kv], dim=1)
            q, k = (FUSED[rotate](split(a, n), self.cos, self.sin)
                    for a, n in ((q, self.heads), (k, self.kv_heads)))
            y = F.scaled_dot_product_attention(q, k, split(v, self.kv_heads), enable_gqa=gqa)
            y = self.linear(y.transpose(1, 2).reshape(-1, self.width), 4 * i + 1, cores)
            x, h = FUSED[add_rms](x, y, self.norms[f"blk.{i}.ffn_norm.weight"])
            y = self.linear(FUSED[swiglu](self.linear(h, 4 * i + 2, cores)), 4 * i + 3, cores)
            if i + 1 < self.layers:
                x, h = FUSED[add_rms](x, y, self.norms[f"blk.{i + 1}.attn_norm.weight"])
        return x, y

    def nats(self, tokens, cores, masked, targets, weights):
        """Cross-entropies of the masked places (flat), and their weighted sum, which can go backward."""
        x, y = self.hidden(tokens, cores)
        before = torch.where(masked % LENGTH == 0, masked, masked - 1)
        x = x.index_select(0, before) + y.index_select(0, before)
        x = FUSED[rms](x, self.norms["output_norm.weight"])
        nats = torch.empty(len(masked), device=self.device)
        return nats, Nats.apply(x, self.head, targets, weights, nats)

    def make_frame(self, name, pieces, rank, generator):
        """Leading eigenvectors of the covariances of inputs and of output gradients over pieces."""
        self.seen = {}
        for clean in pieces.split(64):
            masked, t = corrupt((len(clean),), LENGTH, True, generator, self.device)
            place = masked.flatten().nonzero()[:, 0]
            weight = (1 / t).clamp(max=4.0)[place // LENGTH]
            self.nats(torch.where(masked, self.mask, clean), None, place, clean.flatten()[place],
                      weight)[1].backward()
        seen, self.seen = self.seen, None
        leading = lambda c: torch.linalg.eigh(c.double())[1].flip(1)[:, :rank].T.float()
        self.frames[name] = {n: tuple(leading(c) for c in pair) for n, pair in seen.items()}


def corrupt(shape, span, stratified, generator, device):
    """Exact-count masks of the last `span` of LENGTH tokens, and t; t is stratified over the last axis."""
    u = torch.rand(*shape, generator=generator, device=device)
    if stratified:
        order = torch.rand(*shape, generator=generator, device=device).argsort(-1)
        u = (order + u) / shape[-1]
    count = ((u * span).floor() + 1).clamp(max=span)
    order = torch.rand(*shape, span, generator=generator, device=device).argsort(-1).argsort(-1)
    masked = torch.zeros(*shape, LENGTH, dtype=torch.bool, device=device)
    masked[..., LENGTH - span:] = order < count[..., None]
    return masked, count / span
