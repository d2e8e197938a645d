// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace ruvd::storage {

// The kind of thing that a node of the graph stands for. The numbers are stored.
enum class GraphNodeKind : uint8_t { kSession = 1, kPattern = 2, kWitness = 3 };

struct GraphNode {
  GraphNodeKind kind = GraphNodeKind::kSession;
  std::string id;  // its id in its own store, 1 to limits::kMaxGraphIdBytes bytes
  auto operator<=>(const GraphNode&) const = default;
};

// The relation of two nodes. The numbers are stored.
enum class EdgeType : uint8_t {
  kInSession = 1,    // a witness entry belongs to a session
  kUsed = 2,         // a session or request used a pattern
  kSimilar = 3,      // two requests, sessions or patterns are alike
  kDerivedFrom = 4,  // a pattern was learned from a request or another pattern
  kFollows = 5,      // a request came after another one of its session
};
inline constexpr uint8_t kMaxEdgeType = static_cast<uint8_t>(EdgeType::kFollows);

struct EdgeKey {
  GraphNode from;
  EdgeType type = EdgeType::kSimilar;
  GraphNode to;
  auto operator<=>(const EdgeKey&) const = default;
};

struct GraphEdge {
  EdgeKey key;
  float weight = 0;  // 0 to 1
  int64_t created_ms = 0;
  int64_t updated_ms = 0;
};

}  // namespace ruvd::storage
