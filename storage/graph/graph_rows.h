// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/graph/graph_edge.h"

// Keys and plaintexts of the graph rows; docs/store-format.md has them. A node in a key is its
// kind, the length of its id and the id: no node is the beginning of another.
namespace ruvd::storage::graph {

inline constexpr char kEdgePrefix[] = "e/";     // the edge itself
inline constexpr char kOutPrefix[] = "o/";      // by its beginning and type, heaviest first
inline constexpr char kInPrefix[] = "i/";       // by its end and type, heaviest first
inline constexpr char kRemovalPrefix[] = "d/";  // nodes whose edges are being deleted

std::string EncodeNode(const GraphNode& node);
std::string EdgeRowKey(const EdgeKey& key);
// Rows without a value that order the edges of a node, type by type, by weight.
std::string OutKey(const EdgeKey& key, float weight);
std::string InKey(const EdgeKey& key, float weight);
// How the keys of a node's edges of one type begin.
std::string OutPrefix(const GraphNode& node, EdgeType type);
std::string InPrefix(const GraphNode& node, EdgeType type);
std::string RemovalKey(const GraphNode& node);

// The parts of keys; nullopt for bytes that the functions above do not make.
std::optional<EdgeKey> DecodeEdgeRowKey(std::string_view row_key);
std::optional<GraphNode> DecodeRemovalKey(std::string_view row_key);
struct WeightedKey {
  EdgeKey key;
  float weight = 0;
};
std::optional<WeightedKey> DecodeOutKey(std::string_view row_key);
std::optional<WeightedKey> DecodeInKey(std::string_view row_key);

// The plaintext of an edge's row: all but its key.
std::string EncodeEdge(const GraphEdge& edge);
// STORE_CORRUPT for bytes that EncodeEdge does not make.
absl::StatusOr<GraphEdge> DecodeEdge(std::string_view bytes, const EdgeKey& key);

}  // namespace ruvd::storage::graph
