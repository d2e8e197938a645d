# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""Where nodes and attackers run: all on loopback, or each in a network namespace of its own."""

import socket

from namespaces import Network

HOSTS = ("alpha", "beta", "gamma", "attackers", "newcomers")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Loopback:
    """Attackers of outside come from 127.0.0.2; insiders share 127.0.0.1 with honest nodes."""

    source = "127.0.0.2"
    serve = ()
    words = "loopback"

    def command(self, _host, arguments):
        return [str(one) for one in arguments]

    def addresses(self, _host):
        """Returns addresses for the client port and the link service of a node."""
        return f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"

    def close(self):
        pass


class Namespaces:
    """One host each for the honest nodes, for all attackers, and for those that join."""

    source = ""  # the attackers' host has an address of its own
    serve = ("--api.allow_remote", "true")  # strangers reach the client port, too

    def __init__(self, loss):
        self.words = f"network namespaces, {loss:.1%} of packets lost"
        self.network = Network(len(HOSTS))
        self.network.rules(loss, ())

    def command(self, host, arguments):
        return self.network.inside(HOSTS.index(host), arguments)

    def addresses(self, host):
        own = Network.address(HOSTS.index(host))
        return f"{own}:7420", f"{own}:{7421 if host in HOSTS[:3] else free_port()}"

    def close(self):
        self.network.close()
