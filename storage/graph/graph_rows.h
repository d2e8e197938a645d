// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/graph/graph_edge.h"

// Keys and plaintexts of the graph rows, which docs/store-format.md describes. A node in a key is
// its kind, the length of its id and the id, so no node is a prefix of another.
namespace ruvd::storage::graph {

inline constexpr char kEdgePrefix[] = "e/";     // the edge itself
inline constexpr char kOutPrefix[] = "o/";      // by start node and type, heaviest first
inline constexpr char kInPrefix[] = "i/";       // by end node and type, heaviest first
inline constexpr char kRemovalPrefix[] = "d/";  // nodes whose edges are being deleted

std::string EncodeNode(const GraphNode& node);
std::string EdgeRowKey(const EdgeKey& key);
// The keys of rows without a value that order the edges of a node by type and weight.
std::string OutKey(const EdgeKey& key, float weight);
std::string InKey(const EdgeKey& key, float weight);
// The prefix of the keys of a node's edges of one type.
std::string OutPrefix(const GraphNode& node, EdgeType type);
std::string InPrefix(const GraphNode& node, EdgeType type);
std::string RemovalKey(const GraphNode& node);

// Return the parts of keys, or nullopt for bytes that the functions above do not make.
std::optional<EdgeKey> DecodeEdgeRowKey(std::string_view row_key);
std::optional<GraphNode> DecodeRemovalKey(std::string_view row_key);
struct WeightedKey {
  EdgeKey key;
  float weight = 0;
};
std::optional<WeightedKey> DecodeOutKey(std::string_view row_key);
std::optional<WeightedKey> DecodeInKey(std::string_view row_key);

// Returns the plaintext of an edge's row, which has all but its key.
std::string EncodeEdge(const GraphEdge& edge);
// Returns STORE_CORRUPT for bytes that EncodeEdge does not make.
absl::StatusOr<GraphEdge> DecodeEdge(std::string_view bytes, const EdgeKey& key);

}  // namespace ruvd::storage::graph
