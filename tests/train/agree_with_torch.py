# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0

"""agree_with_torch.py TRAIN_TRACE MODEL: the same LoRA run, 30 steps of 8 x 64 tokens, in the engine
and in PyTorch, from the same first parameters and on the same masks. Fails where a loss differs by
more than 1 %, or the first step's loss or gradient norm by more than 1e-4. Ends with 77, which
stands for skipped, where there is no torch."""
import subprocess
import sys
import tempfile

try:
    import torch
except ImportError:
    print("skipped: this Python has no torch")
    sys.exit(77)

from torch_network import Trace, Trainer

SEQUENCES, TOKENS, STEPS = 8, 64, 30


def main():
    binary, model = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([binary, model, folder, str(SEQUENCES), str(TOKENS), str(STEPS)], check=True)
        trace = Trace(folder)
    torch.set_num_threads(2)
    trainer = Trainer(trace)
    worst = 0.0
    print("step  engine     torch      norm of the gradient, engine and torch")
    for step in range(STEPS):
        loss, norm = trainer.step(step)
        ours, our_norm = trace.losses[step], trace.gradient_norms[step]
        print(f"{step:4d}  {ours:9.6f}  {loss:9.6f}  {our_norm:9.6f} {norm:9.6f}")
        worst = max(worst, abs(ours - loss) / abs(loss))
        if step == 0 and (abs(ours - loss) > 1e-4 * loss or abs(our_norm - norm) > 1e-4 * norm):
            sys.exit("the first step differs")
    print(f"torch {torch.__version__}: largest difference of a loss {100 * worst:.4f} %, "
          f"loss {trace.losses[0]:.3f} to {trace.losses[-1]:.3f}")
    if worst > 0.01 or trace.losses[-1] > 0.9 * trace.losses[0]:
        sys.exit("the runs differ, or nothing was learnt")


if __name__ == "__main__":
    main()
