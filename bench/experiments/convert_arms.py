#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""What does it cost to turn an autoregressive model into a block-diffusion one by low-rank changes?

Arms begin at the same autoregressive weights and see the same number of tokens: full fine-tuning, LoRA of all
linear layers at several ranks with and without a trained row for the MASK token, three ways to get from causal
to block-causal attention, and block diffusion from scratch. Each is scored by the block-diffusion NELBO of the
validation text with common masks.

  python3 bench/experiments/convert_arms.py tokenize --tokenizer FILE.json --out DIR TEXT.jsonl.zst...
  python3 TRAIN_MDLM.py --objective ar ... --out AR          (the models' training program; or from scratch)
  python3 bench/experiments/convert_arms.py hf --recipe TRAIN_MDLM.py --weights AR --tokenizer FILE.json --out DIR
  python3 bench/experiments/convert_arms.py arms --recipe TRAIN_MDLM.py --weights AR --train 'DIR/*.u16' \\
      --valid FILE.u16 --set small --out FILE.json

Needs a CUDA device and PyTorch; `tokenize` needs tokenizers and pyarrow.
"""
import argparse
import importlib.util
import json
import math
import os
import shutil
import struct
import sys
import time

import numpy as np

EOT, MASK, BLOCK, CTX = 8187, 8188, 16, 512


def load_recipe(path):
    spec = importlib.util.spec_from_file_location("recipe", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["recipe"] = module
    spec.loader.exec_module(module)
    return module


# ---------------------------------------------------------------------------------------------- texts, files
def tokenize(args):
    import pyarrow as pa
    from tokenizers import Tokenizer
    tokenizer = Tokenizer.from_file(args.tokenizer)
    os.makedirs(args.out, exist_ok=True)
    for path in args.texts:
        with pa.input_stream(path, compression="zstd") as stream:
            texts = [json.loads(line)["text"] for line in stream.read().splitlines() if line]
        ids = []
        for at in range(0, len(texts), 512):
            for encoded in tokenizer.encode_batch(texts[at:at + 512], add_special_tokens=False):
                ids.append(np.array(encoded.ids + [EOT], dtype="<u2"))
        stream = np.concatenate(ids)
        out = os.path.join(args.out, os.path.basename(path).replace(".jsonl.zst", ".u16"))
        stream.tofile(out)
        print(f"{out}: {len(texts)} documents, {len(stream)} tokens", flush=True)


HF_NAMES = {"attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
            "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm",
            "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}


def hf_name(name):
    if name.startswith("blk."):
        _, layer, part, _ = name.split(".")
        return f"model.layers.{layer}.{HF_NAMES[part]}.weight"
    return {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight",
            "output.weight": "lm_head.weight"}[name]


def write_hf(args):
    """The weights of an export as a Hugging Face folder of a Qwen2 model."""
    manifest = json.load(open(os.path.join(args.weights, "manifest.json")))
    stream = b"".join(open(os.path.join(args.weights, f), "rb").read() for f in manifest["files"])
    header = {hf_name(t["name"]): dict(dtype="F16", shape=t["shape"], data_offsets=[t["offset"], t["offset"] + t["bytes"]])
              for t in manifest["tensors"]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    c = manifest["config"]
    config = dict(architectures=["Qwen2ForCausalLM"], model_type="qwen2", hidden_size=c["d"],
                  intermediate_size=c["ffn"], num_hidden_layers=c["layers"], num_attention_heads=c["heads"],
                  num_key_value_heads=c["kv_heads"], vocab_size=c["vocab"], max_position_embeddings=c["ctx"],
                  rms_norm_eps=c["rms_eps"], rope_theta=c["rope_theta"], hidden_act="silu",
                  tie_word_embeddings=c["tied"], bos_token_id=EOT, eos_token_id=EOT, torch_dtype="float16")
    os.makedirs(args.out, exist_ok=True)
    with open(os.path.join(args.out, "model.safetensors"), "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + stream)
    with open(os.path.join(args.out, "config.json"), "w") as out:
        json.dump(config, out, indent=1)
    shutil.copy(args.tokenizer, os.path.join(args.out, "tokenizer.json"))


# ---------------------------------------------------------------------------------------------- arms
SETS = {
    "smoke": [dict(name="full", steps=4), dict(name="lora", rank=32, steps=4),
              dict(name="lora", rank=32, steps=4, anneal="bernoulli"), dict(name="scratch", steps=4)],
    # Equal to what two CPU cores can do: 256 steps of 16 x 512 tokens.
    "small": [dict(name="full", lr=lr) for lr in (3e-4, 1e-3, 2e-3)] +
             [dict(name="lora", rank=32, lr=lr) for lr in (1e-3, 2e-3, 4e-3, 8e-3)] +
             [dict(name="lora", rank=32, lr=4e-3, anneal=anneal) for anneal in ("none", "bernoulli")] +
             [dict(name="full", lr=1e-3, anneal="none"),
              dict(name="lora", rank=32, lr=4e-3, clamp=math.inf),
              dict(name="lora", rank=32, lr=4e-3, mask_row="frozen"),
              dict(name="lora", rank=32, lr=4e-3, mask_row="mean"),
              dict(name="lora", rank=8, lr=4e-3), dict(name="lora", rank=64, lr=4e-3),
              dict(name="lora", rank=128, lr=4e-3),
              dict(name="scratch", lr=2e-3)],
    "rates": [dict(name="lora", rank=32, lr=lr, anneal="none") for lr in (8e-3, 1.6e-2)] +
             [dict(name="full", lr=2e-3, anneal="none"),
              dict(name="lora", rank=32, lr=8e-3, anneal="none", mask_row="frozen"),
              dict(name="lora", rank=32, lr=8e-3, anneal="none", mask_row="mean"),
              dict(name="lora", rank=32, lr=8e-3, share=0.2),
              dict(name="lora", rank=32, lr=8e-3, anneal="none", clamp=math.inf)],
    "medium": [dict(name=name, batch=32, steps=1024, **more) for name, more in (
        ("full", dict(lr=1e-3, anneal="none")), ("full", dict(lr=2e-3, anneal="none")), ("full", dict(lr=1e-3)),
        ("lora", dict(rank=32, lr=4e-3, anneal="none")), ("lora", dict(rank=32, lr=8e-3, anneal="none")),
        ("lora", dict(rank=32, lr=8e-3)), ("lora", dict(rank=32, lr=8e-3, share=0.2)),
        ("lora", dict(rank=32, lr=8e-3, anneal="bernoulli")))],
    "large": [dict(name=name, batch=64, steps=2048, **more) for name, more in (
        ("full", dict(lr=1e-3, anneal="none")), ("lora", dict(rank=32, lr=8e-3, anneal="none")),
        ("lora", dict(rank=128, lr=4e-3, anneal="none")))],
    "scratch": [dict(name="scratch", batch=32, steps=1024, lr=2e-3), dict(name="scratch", batch=64, steps=2048, lr=2e-3)],
}
DEFAULTS = dict(steps=256, batch=16, lr=1e-3, anneal="blocks", share=0.5, clamp=4.0, mask_row="own", rank=0, seed=1)


def make_lora_net(R, torch, F):
    class LoraLinear(torch.nn.Module):
        """y = W x + B A x, W frozen; A begins with orthonormal rows, B with zeros."""
        def __init__(self, linear, rank):
            super().__init__()
            self.weight = linear.weight.requires_grad_(False)
            a = torch.linalg.qr(torch.randn(linear.in_features, min(rank, linear.in_features), device=self.weight.device))[0].T
            self.a = torch.nn.Parameter(a.contiguous())
            self.b = torch.nn.Parameter(torch.zeros(linear.out_features, self.a.shape[0], device=self.weight.device))

        def forward(self, x):
            return F.linear(x, self.weight) + F.linear(F.linear(x, self.a), self.b)

    class LoraNet(R.Net):
        """LoRA of all linear layers of the blocks and a trained row for the MASK token, which the tied output
        matrix shares."""
        def adapt(self, rank, mask_row):
            for p in self.parameters():
                p.requires_grad_(False)
            for block in self.blocks:
                for name in ("q", "k", "v", "o", "gate", "up", "down"):
                    setattr(block, name, LoraLinear(getattr(block, name), rank))
            w = self.emb.weight.detach()
            self.row = torch.nn.Parameter((w.mean(0) if mask_row == "mean" else w[self.c.mask_id]).clone(),
                                          requires_grad=mask_row != "frozen")
            self.register_buffer("id", torch.tensor([self.c.mask_id], device=w.device))
            return self

        def table(self):
            return self.emb.weight.index_copy(0, self.id, self.row[None])

        def hidden(self, ids, cos, sin, attn_mask=None, causal=False):
            x = F.embedding(ids, self.table()).to(torch.bfloat16)
            for b in self.blocks:
                x = b(x, cos, sin, attn_mask, causal)
            return self.norm(x)

        def logits(self, h):
            return F.linear(h, self.table())

    return LoraNet


def block_at(arm, step):
    """Block length of a step: doubles from 1 over the first `share` of the steps. At 1 with the shift a MASK
    is predicted by the clean token before it, which is next-token prediction."""
    if arm["anneal"] != "blocks":
        return BLOCK
    stages = int(math.log2(BLOCK))
    return min(BLOCK, 2 ** int(stages * step / max(1, arm["share"] * arm["steps"])))


def bernoulli_mask(torch, full, causal, ratio):
    """Each entry that causal attention lacks is there with probability `ratio` (DiffuLLaMA's annealing)."""
    return full & (causal | (torch.rand(full.shape, device=full.device) < ratio))


def run_arm(R, torch, F, arm, args, train, valid, device):
    arm = {**DEFAULTS, **arm}
    torch.manual_seed(arm["seed"])
    c = R.Config(8192, 256, 4, 4, 2, 768, CTX, mask_id=MASK, eot_id=EOT)
    net = (make_lora_net(R, torch, F) if arm["name"] == "lora" else R.Net)(c).to(device)
    if arm["name"] != "scratch":
        R.load_export(net, args.weights)
    if arm["name"] == "lora":
        net.adapt(arm["rank"], arm["mask_row"])
    trained = [p for p in net.parameters() if p.requires_grad]
    opts = [torch.optim.AdamW(trained, lr=arm["lr"], betas=(0.9, 0.99), weight_decay=0.0, fused=True)]
    if arm["name"] == "scratch":
        mats = [p for n, p in net.named_parameters() if p.ndim == 2 and n.startswith("blocks")]
        rest = [p for n, p in net.named_parameters() if not (p.ndim == 2 and n.startswith("blocks"))]
        opts = [torch.optim.AdamW(rest, lr=arm["lr"], betas=(0.9, 0.98), weight_decay=0.0, fused=True),
                R.Muon(mats, arm["lr"], weight_decay=0.1)]
        arm["anneal"], arm["clamp"] = "none", math.inf
    masks = {b: R.block_mask(CTX, b, device) for b in (1, 2, 4, 8, 16)}
    i = torch.arange(CTX, device=device)
    i = torch.cat((i, i))
    causal = i[:, None] >= i[None, :]
    cos, sin = R.rope_tables(CTX, c.d // c.heads, c.rope_theta, device)
    cos2, sin2 = torch.cat((cos, cos)), torch.cat((sin, sin))
    data = R.Crops(train, CTX, device, arm["seed"])
    amp = lambda: torch.autocast("cuda", dtype=torch.bfloat16)

    def score():
        net.eval()
        value = R.evaluate(net.token_losses, valid, c, 128, CTX, 1024, device, amp, BLOCK, False, masks[BLOCK], True)
        net.train()
        return value

    before = score()[0]
    start, B = time.time(), arm["batch"]
    for step in range(arm["steps"]):
        f = step / arm["steps"]
        lr = arm["lr"] * (f / 0.1 if f < 0.1 else 1 - 0.9 * (f - 0.1) / 0.9)
        lr = max(lr, arm["lr"] / arm["steps"])
        for o in opts:
            for g in o.param_groups:
                g["lr"] = lr
            o.zero_grad(set_to_none=True)
        block = block_at(arm, step)
        x0 = data.next(B)
        xt, mask, w = R.corrupt(x0, MASK, None, block)
        idx = R.pick(mask, R.capacity(B, CTX, block))
        seen = masks[block]
        if arm["anneal"] == "bernoulli":
            seen = bernoulli_mask(torch, seen, causal, min(1.0, f / arm["share"]))
        with amp():
            ce = net.token_losses(torch.cat((xt, x0), 1), R.source_bd(idx, CTX, block, True), x0.reshape(-1)[idx],
                                  cos2, sin2, seen, False)
        m, wt = mask.reshape(-1)[idx].float(), w.reshape(-1)[idx].clamp(max=arm["clamp"])
        loss = (ce * m * wt).sum() / (B * CTX)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        for o in opts:
            o.step()
    v, se, bins = score()
    result = dict(arm, tokens=arm["steps"] * B * CTX, trained=sum(p.numel() for p in trained), before=before, nelbo=v,
                  standard_error=se, by_t=bins, seconds=round(time.time() - start, 1))
    result["clamp"] = None if math.isinf(arm["clamp"]) else arm["clamp"]
    print(json.dumps(result), flush=True)
    return result


def arms(args):
    import torch
    import torch.nn.functional as F
    R = load_recipe(args.recipe)
    device = torch.device("cuda")
    torch.set_float32_matmul_precision("high")
    train, valid = R.load_tokens(args.train), R.load_tokens(args.valid)
    results = []
    for arm in SETS[args.set]:
        results.append(run_arm(R, torch, F, arm, args, train, valid, device))
        with open(args.out, "w") as out:
            json.dump(results, out, indent=1)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = ap.add_subparsers(dest="verb", required=True)
    p = verbs.add_parser("tokenize")
    p.add_argument("--tokenizer", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("texts", nargs="+")
    p.set_defaults(run=tokenize)
    p = verbs.add_parser("hf")
    p.add_argument("--weights", required=True)
    p.add_argument("--tokenizer", required=True)
    p.add_argument("--out", required=True)
    p.set_defaults(run=write_hf)
    p = verbs.add_parser("arms")
    p.add_argument("--recipe", required=True)
    p.add_argument("--weights", required=True)
    p.add_argument("--train", required=True)
    p.add_argument("--valid", required=True)
    p.add_argument("--set", choices=sorted(SETS), default="small")
    p.add_argument("--out", required=True)
    p.set_defaults(run=arms)
    args = ap.parse_args()
    args.run(args)


if __name__ == "__main__":
    main()
