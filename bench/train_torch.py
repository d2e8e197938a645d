# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0

"""train_torch.py BUILD MODEL [--rounds N]: training steps of the engine (BUILD/bench/train) and the
same steps in PyTorch (tests/train/torch_network.py, head on masked rows only), alternately on the
same threads: LoRA of rank 8 on every linear layer, 16 x 128 tokens, AdamW. Prints one JSON line with
the best CPU and wall time of a step of each and their ratio. BUILD is a folder such as
build/release. With more than one thread torch's waiting threads spin, so on a machine that does other
things compare --threads 1 with OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "train"))
import torch  # noqa: E402
from torch_network import Trace, Trainer  # noqa: E402

SEQUENCES, TOKENS = 16, 128


def torch_step(trainer, number):
    cpu, wall = time.process_time(), time.perf_counter()
    trainer.step(number)
    return 1e3 * (time.process_time() - cpu), 1e3 * (time.perf_counter() - wall)


def engine_step(arguments):
    output = subprocess.run(
        [os.path.join(arguments.build, "bench", "train"), "--model", arguments.model, "--sequences",
         str(SEQUENCES), "--tokens", str(TOKENS), "--steps", "2", "--threads",
         str(arguments.threads), "--float32"], check=True, capture_output=True, text=True).stdout
    return json.loads(output)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build")
    parser.add_argument("model")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([os.path.join(arguments.build, "tests", "train", "train_trace"),
                        arguments.model, folder, str(SEQUENCES), str(TOKENS), "2"], check=True)
        trainer = Trainer(Trace(folder))
    trainer.step(0)  # warms up
    ours, theirs = [], []
    for _ in range(arguments.rounds):
        ours.append(engine_step(arguments))
        theirs += [torch_step(trainer, 1), torch_step(trainer, 1)]
    best = min(ours, key=lambda line: line["ms_cpu"])
    cpu, wall = min(t[0] for t in theirs), min(t[1] for t in theirs)
    print(json.dumps({
        "torch": torch.__version__, "torch_ms_cpu": round(cpu, 1), "torch_ms_wall": round(wall, 1),
        "ms_cpu": best["ms_cpu"], "ms_wall": min(line["ms_wall"] for line in ours),
        "speed_by_cpu": round(cpu / best["ms_cpu"], 3),
        "speed_by_wall": round(wall / min(line["ms_wall"] for line in ours), 3),
        "gflops": best["gflops"], "f32_peak": best["f32_peak"],
        "share_of_peak": best["share_of_peak"], "peak_mb": best["peak_mb"],
        "weights_mb": best["weights_mb"]}))


if __name__ == "__main__":
    main()
