// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Keys and rows of the graph store: what a decoder accepts must encode to bytes that decode to the
// same value.

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/status.h"
#include "storage/graph/graph_rows.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace graph = ruvd::storage::graph;
  const std::string_view bytes = ruvd::AsText({data, size});
  if (const auto key = graph::DecodeEdgeRowKey(bytes)) {
    RUVD_CHECK(graph::EdgeRowKey(*key) == bytes);
  }
  if (const auto edge = graph::DecodeOutKey(bytes)) {
    RUVD_CHECK(graph::OutKey(edge->key, edge->weight) == bytes);
  }
  if (const auto edge = graph::DecodeInKey(bytes)) {
    RUVD_CHECK(graph::InKey(edge->key, edge->weight) == bytes);
  }
  if (const auto node = graph::DecodeRemovalKey(bytes)) {
    RUVD_CHECK(graph::RemovalKey(*node) == bytes);
  }
  if (const auto edge = graph::DecodeEdge(bytes, {}); edge.ok()) {
    RUVD_CHECK(graph::DecodeEdge(graph::EncodeEdge(*edge), {}).ok());
  }
  return 0;
}
