#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""Attacks of outsiders, and of a member's TLS key, on the ports of a running node.

Two nodes with TLS and admission run on loopback: alpha, which holds the authority's key, and its
member beta. For every attack the program measures the time of short completions on alpha before and
while others attack alpha's ports, whether beta keeps its link, whether a new node can join meanwhile,
and whether descriptors, threads and memory are back ten seconds later. Most attackers are strangers,
whom TLS refuses; those called "member" have the TLS key of beta, but not its node key. The attackers
run on the same machine and take processor time of their own; "attackers" says how much.

Prints one line for each attack. Exit status: 0 all expectations hold; 1 one does not; 2 wrong flags.
"""

import argparse
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

PATIENCE = 60
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


class Failure(Exception):
    """What ends the program, said in one line."""


def frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def literal(name, value):
    """A header without the table (RFC 7541, section 6.2.2)."""
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


def open_call(path):
    """The bytes that begin a gRPC call and leave it open."""
    headers = (literal(b":method", b"POST") + literal(b":scheme", b"https") +
               literal(b":path", path) + literal(b":authority", b"ruvd") +
               literal(b"content-type", b"application/grpc") + literal(b"te", b"trailers"))
    return PREFACE + frame(4, 0, 0, b"") + frame(1, 4, 1, headers)


LINK = open_call(b"/ruvd.federation.v1.FederationService/Link")
JOIN = open_call(b"/ruvd.admission.v1.AdmissionService/Join")
ENDLESS = (PREFACE + frame(4, 0, 0, b"") +
           frame(1, 0, 1, b"\x00\x01x\x7f\x81\xff\xff\xff\x03") + frame(9, 0, 1, b"a") * 400_000)


class Attack:
    """What some threads of strangers do, again and again, until the attack ends."""

    def __init__(self, name, port, act, threads=8, pause=0.05):
        self.name, self.port, self.act, self.threads, self.pause = name, port, act, threads, pause
        self.over = threading.Event()
        self.tries = 0

    def run(self, target):
        held = []
        while not self.over.is_set():
            try:
                self.act(target, held)
            except OSError:
                pass
            self.tries += 1
            self.over.wait(self.pause)
        for one in held:
            one.close()


def plain(target):
    """The attackers have an address of their own; honest nodes and clients have 127.0.0.1."""
    return socket.create_connection(target, timeout=5, source_address=("127.0.0.2", 0))


def tls_context(certificate, key=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_cert_chain(certificate, key)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    return context


def stranger_context():
    """With a certificate of the attackers' own making, which names no member."""
    with tempfile.TemporaryDirectory() as folder:
        key, certificate = f"{folder}/key.pem", f"{folder}/cert.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=ruvd", "-keyout",
                        key, "-out", certificate], check=True, capture_output=True)
        return tls_context(certificate, key)


CONTEXTS = {}  # of strangers and of the member, each made once


def tls(target):
    return CONTEXTS["stranger"].wrap_socket(plain(target))


def member_tls(target):
    return CONTEXTS["member"].wrap_socket(plain(target))


def hold(make):
    """Opens connections and keeps them."""
    def act(target, held):
        held.append(make(target))
        if len(held) > 250:
            held.pop(0).close()
    return act


def send(make, data):
    """Opens a connection, sends, and waits until the node ends it."""
    def act(target, _):
        with make(target) as one:
            one.settimeout(2)
            one.sendall(data)
            while one.recv(4096):
                pass
    return act


def churn(make, data):
    """Begins a call over a connection of its own, and leaves it for another soon."""
    def act(target, held):
        one = make(target)
        one.sendall(data)
        held.append(one)
        if len(held) > 20:
            held.pop(0).close()
    return act


def drip(target, _):
    """Sends the beginning of a connection byte by byte."""
    with tls(target) as one:
        for byte in PREFACE * 4:
            one.sendall(bytes([byte]))
            time.sleep(0.2)


ATTACKS = [
    Attack("idle api", "api", hold(plain), pause=0.02),
    Attack("idle peers", "federation", hold(plain), pause=0.02),
    Attack("idle tls", "federation", hold(tls)),
    Attack("garbage", "federation", send(plain, os.urandom(1 << 16))),
    Attack("half-open links", "federation", churn(tls, LINK)),
    Attack("silent joins", "federation", churn(tls, JOIN)),
    Attack("endless header", "federation", send(tls, ENDLESS)),
    Attack("byte by byte", "federation", drip),
    Attack("member: half-open", "federation", churn(member_tls, LINK)),
    Attack("member: joins", "federation", churn(member_tls, JOIN)),
    Attack("member: header", "federation", send(member_tls, ENDLESS)),
]


class Node:
    """One `ruvd serve` with a data folder of its own."""

    def __init__(self, flags, folder, name):
        self.flags, self.name, self.data = flags, name, folder / name
        self.log = folder / f"{name}.log"
        self.process = None
        self.api = self.federation = None

    def ruvd(self, *arguments, server=None, timeout=PATIENCE):
        command = [str(self.flags.ruvd), *arguments]
        if server:
            command += ["--server", server]
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
        if done.returncode != 0:
            raise Failure(f"{' '.join(command)}: {(done.stderr or done.stdout).strip()}")
        return done.stdout

    def start(self, seeds=()):
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [str(self.flags.ruvd), "serve", "--config", str(self.data / "ruvd.toml"),
                 "--model.path", str(self.flags.model), "--api.listen", "127.0.0.1:0",
                 "--federation.listen", "127.0.0.1:0", "--inference.threads", "1",
                 *[part for seed in seeds for part in ("--federation.seeds", seed)]],
                stdout=subprocess.PIPE, stderr=log, text=True)
        ready = self.process.stdout.readline()
        if not ready.startswith("ready "):
            raise Failure(f"{self.name} did not start: {self.log.read_text()[-600:]}")
        fields = dict(part.split("=", 1) for part in ready.split() if "=" in part)
        self.api, self.federation = fields["api"], fields["federation"]

    def status(self):
        return json.loads(self.ruvd("status", "--format", "json", server=self.api))

    def complete(self):
        begin = time.monotonic()
        self.ruvd("run", "Every node", "--max-tokens", "4", "--format", "json", server=self.api)
        return time.monotonic() - begin

    def resources(self):
        proc = Path(f"/proc/{self.process.pid}")
        status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
        return {"descriptors": len(list((proc / "fd").iterdir())),
                "threads": int(status["Threads"]), "mb": int(status["VmRSS"].split()[0]) // 1024}

    def processor(self):
        parts = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        if self.process is not None:
            self.process.terminate()
            self.process.wait(timeout=PATIENCE)


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def target_of(address):
    host, port = address.rsplit(":", 1)
    return host, int(port)


def is_linked(node, name):
    members = json.loads(node.ruvd("members", "--format", "json", server=node.api))["members"]
    return any(one["name"] == name and one.get("linked") for one in members)


def ask(node, calls):
    return [node.complete() for _ in range(calls)]


def meet(attack, flags, alpha, beta, folder, number):
    """Runs one attack; returns its line, and what is wrong."""
    before, calm = alpha.resources(), ask(alpha, flags.calls)
    attack.over.clear()
    attack.tries = 0
    target = target_of(alpha.api if attack.port == "api" else alpha.federation)
    own, spent, begin = os.times(), alpha.processor(), time.monotonic()
    threads = [threading.Thread(target=attack.run, args=(target,), daemon=True)
               for _ in range(attack.threads)]
    for one in threads:
        one.start()
    time.sleep(2)
    wrong = []
    during = ask(alpha, flags.calls)
    linked = is_linked(alpha, beta.name)
    newcomer = Node(flags, folder, f"new{number}")
    try:
        token = alpha.ruvd("token", "create", server=alpha.api).split()[0]
        newcomer.ruvd("join", alpha.federation, "--token", token, "--data-dir", str(newcomer.data),
                      "--name", newcomer.name)
        joined = True
    except Failure as error:
        joined = False
        wrong.append(str(error))
    while time.monotonic() - begin < flags.seconds:
        time.sleep(0.2)
    linked = linked and is_linked(alpha, beta.name)
    seconds = time.monotonic() - begin
    spent, after_own = alpha.processor() - spent, os.times()
    attack.over.set()
    for one in threads:
        one.join(timeout=10)
    time.sleep(10)
    after = alpha.resources()
    port = next(one for one in alpha.status()["ports"] if one["name"] == attack.port)
    ratio = quantile(during, 0.99) / quantile(calm, 0.99)
    if not linked:
        wrong.append("the member lost its link")
    if not joined:
        wrong.append("a new node could not join")
    if after["descriptors"] > before["descriptors"] + 8 or after["threads"] > before["threads"] + 4:
        wrong.append("descriptors or threads did not come back")
    if after["mb"] > before["mb"] * 1.25 + 32:
        wrong.append("memory did not come back")
    own = after_own.user + after_own.system - own.user - own.system
    line = (f"{attack.name:18} tries {attack.tries:6}  p99 {quantile(calm, 0.99):.3f} -> "
            f"{quantile(during, 0.99):.3f} s ({ratio:.2f} x)  node {spent / seconds:.2f} cores, "
            f"attackers {own / seconds:.2f}  descriptors {before['descriptors']} -> "
            f"{after['descriptors']}  threads {before['threads']} -> {after['threads']}  "
            f"MB {before['mb']} -> {after['mb']}  ended {port.get('ended', {})}")
    return line, wrong


def campaign(flags, folder):
    alpha, beta = Node(flags, folder, "alpha"), Node(flags, folder, "beta")
    try:
        alpha.ruvd("init", "--data-dir", str(alpha.data), "--name", "alpha", "--authority")
        alpha.start()
        token = alpha.ruvd("token", "create", server=alpha.api).split()[0]
        beta.ruvd("join", alpha.federation, "--token", token, "--data-dir", str(beta.data), "--name",
                  "beta")
        beta.start([alpha.federation])
        end = time.monotonic() + PATIENCE
        while not is_linked(alpha, "beta"):
            if time.monotonic() > end:
                raise Failure("the two nodes did not link")
            time.sleep(0.2)
        CONTEXTS["member"] = tls_context(beta.data / "link-tls.pem")
        ask(alpha, 5)
        failed = 0
        for number, attack in enumerate(flags.attacks):
            line, wrong = meet(attack, flags, alpha, beta, folder, number)
            print(line, flush=True)
            for one in wrong:
                print(f"  FAILED: {one}", flush=True)
            failed += bool(wrong)
        return failed
    finally:
        beta.stop()
        alpha.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    root = Path(__file__).resolve().parents[2]
    parser.add_argument("--ruvd", type=Path, default=root / "build/release/node/ruvd")
    parser.add_argument("--model", type=Path, default=root / "deploy/models/ruvdllm-5m.q8_0.gguf")
    parser.add_argument("--attack", action="append", choices=[one.name for one in ATTACKS],
                        help="only this attack; may be repeated (default: all)")
    parser.add_argument("--seconds", type=float, default=20, help="of each attack (default 20)")
    parser.add_argument("--calls", type=int, default=40,
                        help="completions before and during each attack (default 40)")
    flags = parser.parse_args()
    if not flags.ruvd.exists():
        parser.error(f"{flags.ruvd} is missing; build it with `cmake --build --preset release`")
    flags.attacks = [one for one in ATTACKS if not flags.attack or one.name in flags.attack]
    CONTEXTS["stranger"] = stranger_context()
    folder = Path(tempfile.mkdtemp(prefix="ruvd-hostile."))
    try:
        failed = campaign(flags, folder)
    except (Failure, subprocess.TimeoutExpired) as error:
        print(f"hostile.py: {error}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{len(flags.attacks) - failed} of {len(flags.attacks)} attacks held off")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
