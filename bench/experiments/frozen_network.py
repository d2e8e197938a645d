# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""The frozen transformer of a GGUF file, with stacked adapters, for talora_arms.py and round_arms.py."""
import math
import struct

import numpy as np
import torch
import torch.nn.functional as F

LINEARS = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")


def read_gguf(path):
    """Metadata and tensors (F32, F16 and Q8_0, as float32 arrays) of a GGUF file."""
    data = np.memmap(path, dtype=np.uint8, mode="r")
    at = 0

    def take(fmt):
        nonlocal at
        value = struct.unpack_from("<" + fmt, data, at)[0]
        at += struct.calcsize("<" + fmt)
        return value

    def text():
        nonlocal at
        size = take("Q")
        value = bytes(data[at:at + size])
        at += size
        return value.decode("utf-8", "replace")

    scalars = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}

    def value(kind):
        if kind == 8:
            return text()
        if kind == 9:
            inner, count = take("I"), take("Q")
            return [value(inner) for _ in range(count)]
        return take(scalars[kind])

    if take("I") != 0x46554747:
        raise SystemExit(f"{path} is no GGUF file")
    take("I")
    tensors, keys = take("Q"), take("Q")
    meta = {}
    for _ in range(keys):
        name = text()
        meta[name] = value(take("I"))
    infos = []
    for _ in range(tensors):
        name = text()
        shape = [take("Q") for _ in range(take("I"))]
        infos.append((name, shape[::-1], take("I"), take("Q")))
    align = meta.get("general.alignment", 32)
    begin = (at + align - 1) // align * align
    result = {}
    for name, shape, kind, offset in infos:
        count, raw = math.prod(shape), data[begin + offset:]
        if kind == 0:
            array = raw[:count * 4].view(np.float32)
        elif kind == 1:
            array = raw[:count * 2].view(np.float16).astype(np.float32)
        elif kind == 8:
            blocks = raw[:count // 32 * 34].reshape(-1, 34)
            scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
            array = (blocks[:, 2:].view(np.int8).astype(np.float32) * scale).reshape(-1)
        else:
            raise SystemExit(f"{name} has type {kind}; F32, F16 and Q8_0 are read")
        result[name] = torch.from_numpy(np.array(array).reshape(shape))
    return meta, result


class Network:
    """The frozen transformer (dream: half-split RoPE, row i predicts token i + 1)."""

    def __init__(self, path, device):
        meta, tensors = read_gguf(path)
        key = lambda name: meta["dream." + name]
        self.layers, self.width = key("block_count"), key("embedding_length")
        self.heads, self.kv_heads = key("attention.head_count"), key("attention.head_count_kv")
        self.eps = key("attention.layer_norm_rms_epsilon")
        self.theta = meta.get("dream.rope.freq_base", 10000.0)
        self.mask = meta["tokenizer.ggml.mask_token_id"]
        self.w = {}
        for name, tensor in tensors.items():
            dtype = torch.float32 if "norm" in name or "bias" in name else torch.bfloat16
            self.w[name] = tensor.to(device, dtype)
        self.device, self.hd = device, self.width // self.heads

    def norm(self, x, name):
        y = x.float()
        return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + self.eps) * self.w[name]).bfloat16()

    def rope(self, x, cos, sin):
        a, b = x.float().chunk(2, dim=-1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1).bfloat16()

    def linear(self, x, name, adapters, gate):
        """x: runs x rows x in; gate: runs x rows x rank, or None for the frozen model."""
        y = F.linear(x, self.w[name + ".weight"])
        if gate is None:
            return y
        a, b = adapters[name]
        return y + torch.bmm(torch.bmm(x, a.bfloat16().transpose(1, 2)) * gate, b.bfloat16())

    def layer(self, x, i, adapters, gate, positions, mask, shape):
        runs, sequences, length = shape
        p = f"blk.{i}."
        h = self.norm(x, p + "attn_norm.weight")
        split = lambda y, n: y.view(runs * sequences, length, n, self.hd).transpose(1, 2)
        q = self.rope(split(self.linear(h, p + "attn_q", adapters, gate), self.heads), *positions)
        k = self.rope(split(self.linear(h, p + "attn_k", adapters, gate), self.kv_heads), *positions)
        v = split(self.linear(h, p + "attn_v", adapters, gate), self.kv_heads)
        repeat = self.heads // self.kv_heads
        k, v = k.repeat_interleave(repeat, 1), v.repeat_interleave(repeat, 1)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        y = y.transpose(1, 2).reshape(runs, sequences * length, self.width)
        x = x + self.linear(y, p + "attn_output", adapters, gate)
        h = self.norm(x, p + "ffn_norm.weight")
        up = self.linear(h, p + "ffn_up", adapters, gate)
        h = F.silu(self.linear(h, p + "ffn_gate", adapters, gate)) * up
        return x + self.linear(h, p + "ffn_down", adapters, gate)

    def losses(self, tokens, rows, targets, adapters, gate, positions, mask):
        """Cross-entropy of targets at rows; tokens: runs x sequences x length, rows and targets flat."""
        runs, sequences, length = tokens.shape
        x = F.embedding(tokens, self.w["token_embd.weight"]).view(runs, sequences * length, self.width)
        for i in range(self.layers):
            x = self.layer(x, i, adapters, gate, positions, mask, tokens.shape)
        x = self.norm(x, "output_norm.weight").reshape(-1, self.width)[rows]
        head = self.w.get("output.weight", self.w["token_embd.weight"])
        return F.cross_entropy(F.linear(x, head).float(), targets, reduction="none")

    def positions(self, index):
        inv = self.theta ** (-torch.arange(0, self.hd, 2, device=self.device, dtype=torch.float64) / self.hd)
        angle = index[:, None].double() * inv[None, :]
        return angle.cos().float(), angle.sin().float()
