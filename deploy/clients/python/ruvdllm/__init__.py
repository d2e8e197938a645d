# SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
# SPDX-License-Identifier: Apache-2.0
"""The client of a RuvDLLM node.

  from ruvdllm import Client
  with Client("127.0.0.1:7420") as node:
      for text in node.generate_text("The little boat", max_tokens=40):
          print(text, end="", flush=True)

Each package of the API is a module here: ruvdllm.inference.EmbedRequest is the message of
ruvd.inference.v1. The module ruvdllm.aio has what asyncio needs.
"""

from ruvdllm import aio
from ruvdllm.async_client import AsyncClient, AsyncCompletion
from ruvdllm.client import Client, Completion
from ruvdllm.errors import Error
from ruvdllm.gen.ruvd.adapter.v1 import adapter_pb2 as adapter
from ruvdllm.gen.ruvd.cluster.v1 import cluster_pb2 as cluster
from ruvdllm.gen.ruvd.inference.v1 import inference_pb2 as inference
from ruvdllm.gen.ruvd.learning.v1 import learning_pb2 as learning
from ruvdllm.gen.ruvd.node.v1 import node_pb2 as node
from ruvdllm.gen.ruvd.pattern.v1 import pattern_pb2 as pattern
from ruvdllm.gen.ruvd.privacy.v1 import privacy_pb2 as privacy
from ruvdllm.gen.ruvd.witness.v1 import witness_pb2 as witness
from ruvdllm.repeat import items, pages, retrying
from ruvdllm.version import __version__

__all__ = ["AsyncClient", "AsyncCompletion", "Client", "Completion", "Error", "__version__", "adapter",
           "aio", "cluster", "inference", "items", "learning", "node", "pages", "pattern", "privacy",
           "retrying", "witness"]
