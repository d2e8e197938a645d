# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""Network namespaces in which campaigns run real nodes: machines of their own, with a bad network."""

import os
import shutil
import signal
import subprocess


class Failure(Exception):
    """What ends a campaign, said in one line."""


def call(arguments, timeout=30):
    """Runs a command and returns its standard output; Failure names it where it fails."""
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=timeout, check=False)
    if done.returncode != 0:
        raise Failure(f"{' '.join(map(str, arguments))}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def missing():
    """Returns what keeps this process from making namespaces, in words; empty if nothing does."""
    for tool in ("ip", "nft"):
        if shutil.which(tool) is None:
            return f"{tool} is missing; install iproute2 and nftables"
    return "" if os.geteuid() == 0 else "network namespaces need root; run this with sudo"


class Network:
    """A router namespace with one link to each host, where everything bad happens.

    Hosts have numbers from 0 on. close() removes all that was made."""

    def __init__(self, hosts):
        self.prefix = f"ruvd{os.getpid()}"
        self.hub = f"{self.prefix}-hub"
        self.made = []
        try:
            self.add(self.hub)
            for i in range(hosts):
                self.add_host(i)
            self.in_hub("sysctl", "-qw", "net.ipv4.ip_forward=1")
            self.rules(loss=0, cut=())
        except BaseException:
            self.close()
            raise

    def add(self, name):
        self.made.append(name)
        call(["ip", "netns", "add", name])
        call(["ip", "-n", name, "link", "set", "lo", "up"])

    def add_host(self, i):
        name = self.name(i)
        self.add(name)
        call(["ip", "-n", self.hub, "link", "add", f"n{i}", "type", "veth", "peer", "name", "eth0",
              "netns", name])
        for where, device, host in ((self.hub, f"n{i}", 1), (name, "eth0", 2)):
            call(["ip", "-n", where, "addr", "add", f"10.77.{i}.{host}/30", "dev", device])
            call(["ip", "-n", where, "link", "set", device, "up"])
        call(["ip", "-n", name, "route", "add", "default", "via", f"10.77.{i}.1"])

    def name(self, i):
        return f"{self.prefix}-{i}"

    @staticmethod
    def address(i):
        return f"10.77.{i}.2"

    def inside(self, i, arguments):
        """Returns the command that runs `arguments` on host `i`, in the process that it starts."""
        return ["ip", "netns", "exec", self.name(i), *map(str, arguments)]

    def in_hub(self, *arguments):
        return call(["ip", "netns", "exec", self.hub, *arguments])

    def rules(self, loss, cut):
        """Drops `loss` of all packets, and all of the (from, to) pairs of `cut`."""
        lines = ["flush ruleset", "table ip faults {", " chain forward {",
                 "  type filter hook forward priority 0; policy accept;"]
        lines += [f"  ip saddr {self.address(a)} ip daddr {self.address(b)} drop" for a, b in cut]
        if loss > 0:
            lines.append(f"  numgen random mod 10000 < {round(loss * 10000)} drop")
        lines += [" }", "}"]
        subprocess.run(["ip", "netns", "exec", self.hub, "nft", "-f", "-"], input="\n".join(lines),
                       text=True, check=True)

    def close(self):
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C leaves nothing behind
        try:
            for name in self.made:
                subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
        finally:
            signal.signal(signal.SIGINT, before)
