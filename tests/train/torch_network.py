# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0

"""The transformer of a trace of train_trace with a LoRA on every linear layer, in PyTorch."""
import json
import math
import os

import numpy as np
import torch
import torch.nn.functional as F

PARTS = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")


class Trace:
    """What train_trace wrote: configuration, tensors, batches, losses."""

    def __init__(self, folder):
        with open(os.path.join(folder, "trace.json"), encoding="utf-8") as file:
            self.__dict__.update(json.load(file))
        values = np.fromfile(os.path.join(folder, "weights.f32"), dtype="<f4")
        self.tensor, at = {}, 0
        for entry in self.tensors:
            self.tensor[entry["name"]] = torch.from_numpy(values[at:at + entry["values"]].copy())
            at += entry["values"]
        assert at == len(values)


class Network:
    def __init__(self, trace):
        c = self.config = trace.config
        self.head_size = c["width"] // c["heads"]
        kv = c["kv_heads"] * self.head_size
        shapes = {"attn_q": (c["width"], c["width"]), "attn_k": (kv, c["width"]),
                  "attn_v": (kv, c["width"]), "attn_output": (c["width"], c["width"]),
                  "ffn_gate": (c["ffn"], c["width"]), "ffn_up": (c["ffn"], c["width"]),
                  "ffn_down": (c["width"], c["ffn"])}
        self.embedding = trace.tensor["token_embd"].view(c["vocabulary"], c["width"])
        self.output_norm = trace.tensor["output_norm"]
        self.norms = [(trace.tensor[f"blk.{i}.attn_norm"], trace.tensor[f"blk.{i}.ffn_norm"])
                      for i in range(c["layers"])]
        self.linears = {}
        for i in range(c["layers"]):
            for part in PARTS:
                self._add(trace, f"blk.{i}.{part}.weight", shapes[part])
        self._add(trace, "output.weight", (c["vocabulary"], c["width"]))

    def _add(self, trace, name, shape):
        out, inner = shape
        rank = self.config["rank"]
        a = trace.tensor[name + ".a"].view(rank, inner).clone().requires_grad_()
        b = torch.zeros(out, rank, requires_grad=True)
        self.linears[name] = (trace.tensor[name].view(out, inner), a, b)

    def parameters(self):
        return [p for _, a, b in self.linears.values() for p in (a, b)]

    def linear(self, name, x):
        w, a, b = self.linears[name]
        return F.linear(x, w) + F.linear(F.linear(x, a), b)

    def norm(self, x, weight):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.config["epsilon"]) * weight

    def rotate(self, x, cos, sin):
        a, b = x.chunk(2, dim=-1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)

    def hidden(self, tokens):
        """Final normed states of a batch (sequences x length), bidirectional attention."""
        c, size = self.config, self.head_size
        n, length = tokens.shape
        angles = torch.arange(length, dtype=torch.float64)[:, None] * c["rope_base"] ** (
            -torch.arange(0, size, 2, dtype=torch.float64) / size)
        cos, sin = angles.cos().float(), angles.sin().float()
        x = self.embedding[tokens]
        for i, (attn_norm, ffn_norm) in enumerate(self.norms):
            name = f"blk.{i}.%s.weight"
            h = self.norm(x, attn_norm)
            q, k, v = (self.linear(name % p, h).view(n, length, -1, size).transpose(1, 2)
                       for p in PARTS[:3])
            repeat = c["heads"] // c["kv_heads"]
            k = self.rotate(k, cos, sin).repeat_interleave(repeat, dim=1)
            v = v.repeat_interleave(repeat, dim=1)
            scores = self.rotate(q, cos, sin) @ k.transpose(-1, -2) / math.sqrt(size)
            context = (scores.softmax(-1) @ v).transpose(1, 2).reshape(n, length, -1)
            x = x + self.linear(name % "attn_output", context)
            h = self.norm(x, ffn_norm)
            h = F.silu(self.linear(name % "ffn_gate", h)) * self.linear(name % "ffn_up", h)
            x = x + self.linear(name % "ffn_down", h)
        return self.norm(x, self.output_norm)

    def loss(self, batch):
        """Weighted cross-entropy; the head runs for the rows that predict something only."""
        tokens = torch.tensor([s["tokens"] for s in batch])
        length = tokens.shape[1]
        rows = torch.tensor([i * length + r for i, s in enumerate(batch) for r in s["rows"]])
        targets = torch.tensor([t for s in batch for t in s["targets"]])
        weights = torch.tensor([w for s in batch for w in s["weights"]])
        hidden = self.hidden(tokens).reshape(-1, self.config["width"])[rows]
        nats = F.cross_entropy(self.linear("output.weight", hidden), targets, reduction="none")
        return (weights * nats).sum()


class Trainer:
    """AdamW with the trace's rates and clipping of the whole gradient."""

    def __init__(self, trace):
        self.trace, self.network = trace, Network(trace)
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=1.0, weight_decay=0,
                                           betas=(trace.beta1, trace.beta2))

    def step(self, number):
        """One step; returns its loss and the gradient's norm before clipping."""
        parameters = self.network.parameters()
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.network.loss(self.trace.batches[number])
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(parameters, self.trace.clip_norm)
        for group in self.optimizer.param_groups:
            group["lr"] = self.trace.learning_rates[number]
        self.optimizer.step()
        return loss.item(), norm.item()
