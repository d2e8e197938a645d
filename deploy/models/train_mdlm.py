#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""Train a small masked-diffusion LM (MDLM) from scratch for a wall-clock budget.

Network: pre-norm transformer, RMSNorm, NEOX-style RoPE, SwiGLU, optional GQA, no biases, bidirectional
attention, no time conditioning, tied output matrix.  Tensor for tensor this is llama.cpp's architecture
`llada` (its RoPE is the interleaved kind, so a GGUF writer must permute the q/k rows of every head from
(half, i) to (i, half)); with zero q/k/v biases added and no permutation it is `dream`.  Convention: logits at position i predict token i (diffusion.shift_logits=false); with --shift they
predict token i+1, and --ar-prob mixes causal next-token steps into the same weights (one file for both uses).

Objective (any-order form of the log-linear MDLM NELBO, lower variance than Bernoulli masking):
    k uniform on 1..L (stratified over the batch), a random k-subset M of the positions becomes MASK,
    NELBO/token = E[ (1/k) * sum_{i in M} -log p(x_i | x_masked) ].

Data: shards of little-endian uint16 token ids (*.u16, *.bin, or the same .xz/.gz-packed), one token stream
with an end-of-text id between documents.  Sequences are crops of the stream; no padding anywhere.

Typical use on one GPU:
  python3 train_mdlm.py --train 'data/train*.u16*' --val data/val.u16 --vocab 8192 --mask-id 8188 --eot-id 8187 \
     --shift --muon --ar-prob 0.15 --bd-block 16 --bd-prob 0.3 --kv-heads 4 \
     --total-train-s 1200 --stop-after-s 1400 --ckpt state.pt --out out
  (the same command again resumes from --ckpt; the last call evaluates and exports the final weights)
"""
import argparse, dataclasses, glob, json, math, os, time
import numpy as np
import torch

from mdlm_batches import Crops, block_mask, capacity, corrupt, load_tokens, pick, source, source_bd
from mdlm_network import Config, HAS_SDPA, Net, rope_tables

T_START = time.time()


# ------------------------------------------------------------------------------------------------ Muon (optional)
class Muon(torch.optim.Optimizer):
    """Momentum + orthogonalised update for the 2-D hidden matrices, scaled to AdamW's update size so that one
    learning rate serves both optimisers."""
    def __init__(self, params, lr, momentum=0.95, weight_decay=0.1):
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay))

    @torch.no_grad()
    def step(self, closure=None):
        for g in self.param_groups:
            by_shape = {}
            for p in g["params"]:
                if p.grad is not None:
                    by_shape.setdefault(tuple(p.shape), []).append(p)
            for shape, ps in by_shape.items():
                ups = []
                for p in ps:
                    st = self.state[p]
                    if "m" not in st:
                        st["m"] = torch.zeros_like(p)
                    st["m"].mul_(g["momentum"]).add_(p.grad)
                    ups.append(p.grad + g["momentum"] * st["m"])
                X = torch.stack(ups)
                X = X.to(torch.bfloat16) if X.is_cuda else X
                tall = shape[0] > shape[1]
                if tall:
                    X = X.transpose(1, 2)
                X = X / (X.flatten(1).norm(dim=1)[:, None, None] + 1e-7)
                for _ in range(5):
                    A = X @ X.transpose(1, 2)
                    X = 3.4445 * X + (-4.7750 * A + 2.0315 * A @ A) @ X
                if tall:
                    X = X.transpose(1, 2)
                s = 0.2 * math.sqrt(max(shape))
                for p, u in zip(ps, X):
                    p.mul_(1 - g["lr"] * g["weight_decay"]).add_(u.to(p.dtype), alpha=-g["lr"] * s)


# ------------------------------------------------------------------------------------------------ export
def named_gguf(net):
    """(GGUF tensor name, tensor) pairs, q/k rows in NEOX order."""
    yield "token_embd.weight", net.emb.weight
    for i, b in enumerate(net.blocks):
        p = f"blk.{i}."
        yield p + "attn_norm.weight", b.attn_norm.weight
        yield p + "attn_q.weight", b.q.weight
        yield p + "attn_k.weight", b.k.weight
        yield p + "attn_v.weight", b.v.weight
        yield p + "attn_output.weight", b.o.weight
        yield p + "ffn_norm.weight", b.ffn_norm.weight
        yield p + "ffn_gate.weight", b.gate.weight
        yield p + "ffn_up.weight", b.up.weight
        yield p + "ffn_down.weight", b.down.weight
    yield "output_norm.weight", net.norm.weight
    if net.head is not None:
        yield "output.weight", net.head.weight


def export(net, out_dir, info, limit=int(14.5 * 2**20)):
    """fp16 tensors as one byte stream cut into weights.NN.bin of at most `limit` bytes + manifest.json.
    Offsets count over the concatenated stream (cat weights.*.bin)."""
    os.makedirs(out_dir, exist_ok=True)
    for f in glob.glob(os.path.join(out_dir, "weights.*.bin")):
        os.remove(f)
    blobs, tensors, off = [], [], 0
    for name, t in named_gguf(net):
        a = t.detach().float().cpu().numpy().astype("<f2")
        assert np.isfinite(a).all(), f"{name} does not fit fp16"
        tensors.append(dict(name=name, shape=list(a.shape), offset=off, bytes=a.nbytes))
        blobs.append(a.tobytes())
        off += a.nbytes
    stream, files = b"".join(blobs), []
    for i in range(0, len(stream), limit):
        files.append(f"weights.{len(files):02d}.bin")
        with open(os.path.join(out_dir, files[-1]), "wb") as fh:
            fh.write(stream[i:i + limit])
    man = dict(format="fp16-stream-1", dtype="f16", rope="neox", config=dataclasses.asdict(net.c), files=files,
               tensors=tensors, **info)
    with open(os.path.join(out_dir, "manifest.json"), "w") as fh:
        json.dump(man, fh, indent=1)
    return len(stream), len(files)


def load_export(net, src):
    man = json.load(open(os.path.join(src, "manifest.json")))
    stream = b"".join(open(os.path.join(src, f), "rb").read() for f in man["files"])
    want = {t["name"]: t for t in man["tensors"]}
    with torch.no_grad():
        for name, p in named_gguf(net):
            t = want[name]
            a = np.frombuffer(stream, "<f2", count=t["bytes"] // 2, offset=t["offset"]).reshape(t["shape"])
            p.copy_(torch.from_numpy(a.astype(np.float32)))


# ------------------------------------------------------------------------------------------------ eval, samples
@torch.no_grad()
def evaluate(fn, val, c, B, L, n_seq, device, amp, block=0, causal=False, mask2=None, shift=False):
    """NELBO per token on fixed crops with fixed noise; also mean CE per bin of the masked fraction t."""
    cos, sin = rope_tables(L, c.d // c.heads, c.rope_theta, device)
    gen = torch.Generator(device=device).manual_seed(1234)
    lb = block or L
    n_seq = max(B, min(n_seq, (len(val) - 1) // L) // B * B)
    starts = np.linspace(0, max(0, len(val) - L - 1), n_seq).astype(np.int64)
    per_seq, bins = [], [[0.0, 0] for _ in range(10)]
    cap = capacity(B, L, block)
    for i in range(0, n_seq, B):
        x0 = torch.from_numpy(np.stack([val[s:s + L] for s in starts[i:i + B]]).astype(np.int64)).to(device)
        with amp():
            if causal:
                idx = torch.arange(B * L, device=device).view(B, L)[:, :-1].reshape(-1)
                ce = fn(x0, idx, x0[:, 1:].reshape(-1), cos, sin, None, True)
                per_seq += ce.view(B, L - 1).mean(1).double().tolist()
                continue
            xt, mask, w = corrupt(x0, c.mask_id, gen, block)
            idx = pick(mask, cap)
            if block:
                ce = fn(torch.cat((xt, x0), 1), source_bd(idx, L, block, shift), x0.reshape(-1)[idx], torch.cat((cos, cos)),
                        torch.cat((sin, sin)), mask2, False)
            else:
                ce = fn(xt, source(idx, L, shift), x0.reshape(-1)[idx], cos, sin, None, False)
        m, wt = mask.reshape(-1)[idx], w.reshape(-1)[idx]
        assert int(m.sum()) == int(mask.sum()), "capacity too small"
        seq = torch.zeros(B, device=device, dtype=torch.float64)
        seq.index_add_(0, idx // L, torch.where(m, ce * wt, torch.zeros_like(ce)).double())
        per_seq += (seq / L).tolist()
        bin_of = ((1 / wt) * 10).ceil().clamp(1, 10).long() - 1          # t in (b/10, (b+1)/10]
        for b in range(10):
            sel = m & (bin_of == b)
            bins[b][0] += float(ce[sel].double().sum()); bins[b][1] += int(sel.sum())
    a = np.array(per_seq)
    return float(a.mean()), float(a.std() / math.sqrt(len(a))), [round(s / n, 4) if n else None for s, n in bins]


@torch.no_grad()
def sample(net, prompt, length, steps, device, temperature=0.7, seed=0, shift=False):
    """Low-confidence remasking over one window; for a look at the model, not for speed."""
    c = net.c
    g = torch.Generator(device=device).manual_seed(seed)
    x = torch.full((1, length), c.mask_id, dtype=torch.long, device=device)
    x[0, :len(prompt)] = torch.tensor(prompt, device=device, dtype=torch.long)
    cos, sin = rope_tables(length, c.d // c.heads, c.rope_theta, device)
    n0 = int((x == c.mask_id).sum())
    for s in range(steps):
        m = x[0] == c.mask_id
        left = int(m.sum())
        if left == 0:
            break
        lg = net.logits(net.hidden(x, cos, sin))[0].float()
        if shift:
            lg = torch.cat((lg[:1], lg[:-1]))
        lg[:, c.mask_id] = float("-inf")
        p = (lg / temperature).softmax(-1)
        tok = torch.multinomial(p, 1, generator=g)[:, 0]
        conf = lg.softmax(-1).gather(1, tok[:, None])[:, 0].masked_fill(~m, -1)
        keep = int(round(n0 * (1 - (s + 1) / steps)))
        for j in conf.topk(max(1, left - keep)).indices.tolist():
            if m[j]:
                x[0, j] = tok[j]
    return x[0].tolist()


# ------------------------------------------------------------------------------------------------ main
def main():
    ap = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    a = ap.add_argument
    a("--train", required=True); a("--val", required=True); a("--out", default="out")
    a("--vocab", type=int, default=8192); a("--mask-id", type=int, default=4); a("--eot-id", type=int, default=0)
    a("--d", type=int, default=512); a("--layers", type=int, default=8); a("--heads", type=int, default=8)
    a("--kv-heads", type=int, default=8); a("--ffn", type=int, default=1536); a("--ctx", type=int, default=512)
    a("--untied", action="store_true"); a("--dropout", type=float, default=0.0)
    a("--objective", choices=["mdlm", "ar"], default="mdlm")
    a("--shift", action="store_true", help="logits at i predict token i+1 (Dream's convention)")
    a("--ar-prob", type=float, default=0.0, help="share of causal next-token steps mixed into mdlm (needs --shift)")
    a("--batch", type=int, default=128, help="sequences of --ctx tokens a step and GPU")
    a("--short", type=float, default=0.3, help="share of steps cut to ctx/2 or ctx/4 (same token count)")
    a("--bd-block", type=int, default=0, help="block size of the block-diffusion steps (0: none)")
    a("--bd-prob", type=float, default=0.5, help="share of block-diffusion steps when --bd-block is set")
    a("--lr", type=float, default=1.5e-3); a("--wd", type=float, default=0.1); a("--beta2", type=float, default=0.98)
    a("--clip", type=float, default=1.0); a("--warmup", type=int, default=400)
    a("--decay-frac", type=float, default=0.5, help="last share of the budget that decays linearly to zero")
    a("--muon", action="store_true"); a("--ema", type=float, default=0.999)
    a("--w-clamp", type=float, default=0.0, help="clamp the 1/t loss weight (0: exact NELBO; 1: plain CE)")
    a("--total-train-s", type=float, default=1080, help="training seconds of all calls together (the schedule)")
    a("--stop-after-s", type=float, default=560, help="this process saves and leaves after so many seconds")
    a("--max-steps", type=int, default=0); a("--eval-every-s", type=float, default=120)
    a("--eval-seqs", type=int, default=1024); a("--bytes-per-token", type=float, default=0.0)
    a("--ckpt", default=""); a("--init-from", default="", help="folder of an earlier export")
    a("--pieces", default="", help="JSON list id -> string, to print samples as text")
    a("--seed", type=int, default=1); a("--no-compile", action="store_true")
    A = ap.parse_args()

    world, rank = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("RANK", 0))
    cuda = torch.cuda.is_available()
    device = torch.device(f"cuda:{os.environ.get('LOCAL_RANK', 0)}" if cuda else "cpu")
    if cuda:
        torch.cuda.set_device(device)
        torch.set_float32_matmul_precision("high")
    if world > 1:
        import torch.distributed as dist
        dist.init_process_group("nccl" if cuda else "gloo")
    amp = (lambda: torch.autocast("cuda", dtype=torch.bfloat16)) if cuda else (lambda: torch.autocast("cpu", enabled=False))
    say = print if rank == 0 else (lambda *x, **k: None)
    torch.manual_seed(A.seed)                                            # the same weights on every rank

    c = Config(A.vocab, A.d, A.layers, A.heads, A.kv_heads, A.ffn, A.ctx, mask_id=A.mask_id, eot_id=A.eot_id,
               tied=not A.untied, dropout=A.dropout)
    assert A.shift or A.ar_prob == 0, "--ar-prob needs --shift"
    assert c.d % c.heads == 0 and c.heads % c.kv_heads == 0 and c.vocab <= 65536 and c.mask_id < c.vocab
    net = Net(c).to(device)
    if A.init_from:
        load_export(net, A.init_from)
    n_par = sum(p.numel() for p in net.parameters())
    ema = {k: v.detach().clone() for k, v in net.state_dict().items()}
    mats = [p for n, p in net.named_parameters() if p.ndim == 2 and n.startswith("blocks")]
    vecs = [p for p in net.parameters() if p.ndim < 2]
    embs = [p for n, p in net.named_parameters() if p.ndim == 2 and not n.startswith("blocks")]
    fused = dict(fused=True) if cuda else {}
    groups = [dict(params=embs, weight_decay=0.0), dict(params=vecs, weight_decay=0.0)]
    if not A.muon:
        groups.append(dict(params=mats, weight_decay=A.wd))
    opts = [torch.optim.AdamW(groups, lr=A.lr, betas=(0.9, A.beta2), eps=1e-8, **fused)]
    if A.muon:
        opts.append(Muon(mats, A.lr, weight_decay=A.wd))

    train_np, val_np = load_tokens(A.train), load_tokens(A.val)
    for nm, t in (("train", train_np), ("val", val_np)):
        assert t.max() < c.vocab, f"{nm}: id {t.max()} >= vocab"
        assert not (t == c.mask_id).any(), f"{nm}: holds the mask id"
    data = Crops(train_np, c.ctx, device, A.seed + 1000 * rank)
    say(f"params {n_par/1e6:.2f}M  train {len(train_np)/1e6:.2f}M tok  val {len(val_np)/1e6:.2f}M tok  world {world}  "
        f"device {torch.cuda.get_device_name() if cuda else 'cpu'}  torch {torch.__version__}", flush=True)

    fn = net.token_losses
    if not A.no_compile and hasattr(torch, "compile"):
        from torch import _dynamo as dynamo
        for name in ("recompile_limit", "cache_size_limit"):
            if hasattr(dynamo.config, name):
                setattr(dynamo.config, name, 32)
        fn = torch.compile(net.token_losses, dynamic=False)
    lengths = [c.ctx] + ([c.ctx // 2, c.ctx // 4] if A.short > 0 and A.objective == "mdlm" else [])
    ropes = {L: rope_tables(L, c.d // c.heads, c.rope_theta, device) for L in lengths}
    mask2 = block_mask(c.ctx, A.bd_block, device) if A.bd_block else None
    if A.bd_block:
        assert c.ctx % A.bd_block == 0

    st = dict(step=0, train_s=0.0, tokens=0, best=None)
    if A.ckpt and os.path.exists(A.ckpt):
        z = torch.load(A.ckpt, map_location=device, **({"weights_only": False} if HAS_SDPA else {}))
        net.load_state_dict(z["net"]); ema = z["ema"]; st = z["st"]
        for o, s in zip(opts, z["opts"]):
            o.load_state_dict(s)
        data.rng = np.random.default_rng(A.seed + 1000 * rank + st["step"])
        data.epoch = z["epoch"]
        say(f"resumed at step {st['step']}, {st['train_s']:.0f} s trained", flush=True)
    torch.manual_seed(A.seed + 77 * rank + st["step"] + 1)               # noise differs by rank and by call

    def lr_at(step, train_s):
        f = min(1.0, train_s / A.total_train_s) if not A.max_steps else min(1.0, step / A.max_steps)
        return A.lr * min(1.0, (step + 1) / A.warmup) * min(1.0, (1 - f) / A.decay_frac)

    def choose():                                                        # (length, block size) of the next step; block -1: causal
        if A.objective == "ar" or (A.ar_prob and step_rng.random() < A.ar_prob):
            return c.ctx, -1
        if A.bd_block and step_rng.random() < A.bd_prob:
            return c.ctx, A.bd_block
        if len(lengths) > 1 and step_rng.random() < A.short:
            return (lengths[1] if step_rng.random() < 0.67 else lengths[2]), 0
        return c.ctx, 0

    def one_step(L, blk):
        B = A.batch * c.ctx // L
        x0 = data.next(A.batch).reshape(B, L)
        if blk < 0:
            idx = torch.arange(B * L, device=device).view(B, L)[:, :-1].reshape(-1)
            with amp():
                ce = fn(x0, idx, x0[:, 1:].reshape(-1), *ropes[L], None, True)
            loss = ce.mean()
            return loss, loss.detach()
        xt, mask, w = corrupt(x0, c.mask_id, None, blk)
        idx = pick(mask, capacity(B, L, blk))
        tgt = x0.reshape(-1)[idx]
        cos, sin = ropes[L]
        with amp():
            if blk:
                ce = fn(torch.cat((xt, x0), 1), source_bd(idx, L, blk, A.shift), tgt, torch.cat((cos, cos)),
                        torch.cat((sin, sin)), mask2, False)
            else:
                ce = fn(xt, source(idx, L, A.shift), tgt, cos, sin, None, False)
        m = mask.reshape(-1)[idx].float()
        wt = w.reshape(-1)[idx]
        nelbo = (ce.detach() * m * wt).sum() / (B * L)
        if A.w_clamp > 0:
            loss = (ce * m * wt.clamp(max=A.w_clamp)).sum() / (B * L) / (1 - 1 / (2 * A.w_clamp))
        else:
            loss = (ce * m * wt).sum() / (B * L)
        return loss, nelbo

    def swap(state):                                                     # returns the weights it displaced
        old = {k: v.detach().clone() for k, v in net.state_dict().items()}
        net.load_state_dict(state)
        return old

    def run_eval(tag):
        net.eval()
        out = {}
        for nm, state in (("raw", None), ("ema", ema)):
            old = swap(state) if state is not None else None
            if A.objective == "ar":
                out[nm] = evaluate(net.token_losses, val_np, c, A.batch, c.ctx, A.eval_seqs, device, amp, causal=True)
            else:
                out[nm] = evaluate(net.token_losses, val_np, c, A.batch, c.ctx, A.eval_seqs, device, amp, shift=A.shift)
                if A.ar_prob:
                    out[nm + "_ar"] = evaluate(net.token_losses, val_np, c, A.batch, c.ctx, A.eval_seqs, device, amp, causal=True)
                if A.bd_block:
                    out[nm + f"_bd{A.bd_block}"] = evaluate(net.token_losses, val_np, c, A.batch, c.ctx, A.eval_seqs,
                                                            device, amp, A.bd_block, False, mask2, A.shift)
            if old is not None:
                net.load_state_dict(old)
        net.train()
        for nm, (v, se, bins) in out.items():
            bpb = f"  bits/byte {v/math.log(2)/A.bytes_per_token:.4f}" if A.bytes_per_token else ""
            say(f"eval {tag} {nm}: nats/token {v:.4f} ± {se:.4f}  ppl {math.exp(min(v, 20)):.2f}{bpb}  CE by t-bin {bins}", flush=True)
        return out

    step_rng = np.random.default_rng(A.seed + st["step"])                # the same on every rank
    net.train()
    t0 = time.time()                                                     # compile every shape before the clock starts
    shapes = [(L, 0) for L in lengths] if A.objective == "mdlm" else []
    shapes += ([(c.ctx, A.bd_block)] if A.bd_block else []) + ([(c.ctx, -1)] if A.ar_prob or A.objective == "ar" else [])
    for L, blk in shapes:
        one_step(L, blk)[0].backward()
    for o in opts:
        o.zero_grad(set_to_none=True)
    data.seen = 0
    if cuda:
        torch.cuda.synchronize()
    if world > 1:
        dist.barrier()
    say(f"warm-up (compilation) {time.time()-t0:.1f} s", flush=True)
    live = dict(net.state_dict())
    keys = list(ema)
    last_eval = t_prev = log_t = time.time()
    hist, log_tok, first, done, stop = [], 0, True, False, False
    while not (done or stop):
        now = time.time()
        if not first and st["step"] % 10 == 0:                           # one clock, one learning rate for all ranks
            st["train_s"] += now - t_prev
            t_prev = now
            flags = torch.tensor([st["train_s"], float(now - T_START > A.stop_after_s)], dtype=torch.float64, device=device)
            if world > 1:
                dist.broadcast(flags, 0)
            st["train_s"], stop = float(flags[0]), bool(flags[1] > 0)
            done = (st["train_s"] >= A.total_train_s) if not A.max_steps else (st["step"] >= A.max_steps)
            lr = lr_at(st["step"], st["train_s"])
            for o in opts:
                for g in o.param_groups:
                    g["lr"] = lr
            if done or stop:
                break
        L, blk = choose()
        loss, nelbo = one_step(L, blk)
        for o in opts:
            o.zero_grad(set_to_none=True)
        loss.backward()
        if world > 1:
            gs = [p.grad for p in net.parameters()]
            flat = torch._utils._flatten_dense_tensors(gs)
            dist.all_reduce(flat); flat /= world
            for gdst, gsrc in zip(gs, torch._utils._unflatten_dense_tensors(flat, gs)):
                gdst.copy_(gsrc)
        torch.nn.utils.clip_grad_norm_(net.parameters(), A.clip)
        if first or st["step"] % 10 == 0:
            for o in opts:
                for g in o.param_groups:
                    g["lr"] = lr_at(st["step"], st["train_s"])
        for o in opts:
            o.step()
        st["step"] += 1
        st["tokens"] += A.batch * c.ctx * world
        log_tok += A.batch * c.ctx * world
        d = min(A.ema, (1 + st["step"]) / (10 + st["step"]))
        with torch.no_grad():
            if hasattr(torch, "_foreach_lerp_"):
                torch._foreach_lerp_([ema[k] for k in keys], [live[k] for k in keys], 1 - d)
            else:
                for k in keys:
                    ema[k].lerp_(live[k], 1 - d)
        first = False
        if blk >= 0 or A.objective == "ar":
            hist.append(nelbo)
        if st["step"] % 100 == 0:
            v = float(torch.stack(hist).mean()); hist = []
            assert math.isfinite(v), "loss is not finite"
            dt = time.time() - log_t
            say(f"step {st['step']} train {st['train_s']:.0f}s tok {st['tokens']/1e6:.0f}M epoch {st['tokens']/len(train_np):.1f} "
                f"nelbo {v:.4f} lr {opts[0].param_groups[0]['lr']:.2e} {log_tok/max(dt,1e-9)/1e3:.0f}k tok/s", flush=True)
            log_tok, log_t = 0, time.time()
        if time.time() - last_eval > A.eval_every_s and rank == 0 and world == 1:
            t0 = time.time(); run_eval(f"step {st['step']}"); last_eval = time.time()
            t_prev += last_eval - t0; log_t += last_eval - t0            # evaluation is not training time
    say(f"left the loop after {time.time()-T_START:.0f} s of wall time", flush=True)

    if rank == 0:
        if A.ckpt and not done:
            os.makedirs(os.path.dirname(os.path.abspath(A.ckpt)), exist_ok=True)
            torch.save(dict(net=net.state_dict(), ema=ema, opts=[o.state_dict() for o in opts], st=st,
                            epoch=data.epoch), A.ckpt + ".tmp")
            os.replace(A.ckpt + ".tmp", A.ckpt)
        res = run_eval("final" if done else "stop")
        use = "ema" if res["ema"][0] <= res["raw"][0] else "raw"
        if use == "ema":
            swap(ema)
        v, se, bins = res[use]
        info = dict(objective=A.objective, weights=use, steps=st["step"], tokens=st["tokens"],
                    epochs=round(st["tokens"] / len(train_np), 2), train_seconds=round(st["train_s"], 1), finished=done,
                    val_nats_per_token=v, val_stderr=se, val_ce_by_t_bin=bins, params=n_par, args=vars(A),
                    shift_logits=A.objective == "ar" or A.shift, time_conditioning=False)
        n, k = export(net, A.out, info)
        say(f"exported {n/2**20:.1f} MiB in {k} files ({use} weights, {'finished' if done else 'to be resumed'})", flush=True)
        if A.objective == "mdlm":
            net.eval()
            pieces = json.load(open(A.pieces)) if A.pieces else None
            for s in range(2):
                p = val_np[s * 4000:s * 4000 + min(16, c.ctx // 4)].tolist()
                with amp():
                    ids = sample(net, p, min(128, c.ctx), 64, device, seed=s, shift=A.shift)
                say("sample:", "".join(pieces[i] for i in ids) if pieces else ids, flush=True)
    if world > 1:
        dist.barrier(); dist.destroy_process_group()


if __name__ == "__main__":
    main()
