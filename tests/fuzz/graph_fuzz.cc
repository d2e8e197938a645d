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
  if (const auto key = storage::graph::DecodeEdgeRowKey(bytes)) {
    RUVD_CHECK(storage::graph::EdgeRowKey(*key) == bytes);
  }
  if (const auto edge = storage::graph::DecodeOutKey(bytes)) {
    RUVD_CHECK(storage::graph::OutKey(edge->key, edge->weight) == bytes);
  }
  if (const auto edge = storage::graph::DecodeInKey(bytes)) {
    RUVD_CHECK(storage::graph::InKey(edge->key, edge->weight) == bytes);
  }
  if (const auto node = storage::graph::DecodeRemovalKey(bytes)) {
    RUVD_CHECK(storage::graph::RemovalKey(*node) == bytes);
  }
  if (const auto edge = storage::graph::DecodeEdge(bytes, {}); edge.ok()) {
    RUVD_CHECK(storage::graph::DecodeEdge(storage::graph::EncodeEdge(*edge), {}).ok());
  }
  return 0;
}
