// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/graph/graph_rows.h"

#include <bit>
#include <utility>

#include "base/status.h"
#include "ruvd/storage/v1/graph.pb.h"
#include "storage/db/row_key.h"
#include "storage/limits.h"
#include "storage/row_text.h"

namespace ruvd::storage::graph {
namespace {

constexpr size_t kPrefixBytes = 2;

static_assert(limits::kMaxGraphIdBytes <= 0xFF, "an id's length is one byte of the key");

// For floats that are not negative, the bit patterns are in the order of the numbers. They are
// inverted, so that the heaviest comes first.
uint32_t WeightBits(float weight) {
  return ~std::bit_cast<uint32_t>(weight);
}

// Reads the parts of a key from its front.
class KeyParts {
 public:
  KeyParts(std::string_view key, std::string_view prefix) : rest_(key) {
    failed_ = !key.starts_with(prefix);
    Take(kPrefixBytes);
  }
  GraphNode Node() {
    GraphNode node;
    const std::string_view head = Take(2);
    if (failed_ || head[0] < 1 || head[0] > static_cast<char>(GraphNodeKind::kWitness) ||
        head[1] == 0) {
      failed_ = true;
      return node;
    }
    node.kind = static_cast<GraphNodeKind>(head[0]);
    node.id = Take(static_cast<uint8_t>(head[1]));
    return node;
  }
  EdgeType Type() {
    const std::string_view byte = Take(1);
    failed_ = failed_ || byte[0] < 1 || byte[0] > static_cast<char>(kMaxEdgeType);
    return failed_ ? EdgeType::kSimilar : static_cast<EdgeType>(byte[0]);
  }
  float Weight() {
    const std::optional<uint32_t> bits = ReadKeyU32(Take(sizeof(uint32_t)), 0);
    const float weight = bits ? std::bit_cast<float>(~*bits) : 0;
    failed_ = failed_ || !(weight >= 0.0F && weight <= 1.0F);
    return weight;
  }
  bool Complete() const { return !failed_ && rest_.empty(); }

 private:
  std::string_view Take(size_t bytes) {
    if (failed_ || bytes > rest_.size()) {
      failed_ = true;
      return {};
    }
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }
  std::string_view rest_;
  bool failed_ = false;
};

char TypeByte(EdgeType type) {
  return static_cast<char>(type);
}

}  // namespace

std::string EncodeNode(const GraphNode& node) {
  std::string bytes;
  bytes.push_back(static_cast<char>(node.kind));
  bytes.push_back(static_cast<char>(node.id.size()));
  return bytes + node.id;
}

std::string EdgeRowKey(const EdgeKey& key) {
  return kEdgePrefix + EncodeNode(key.from) + TypeByte(key.type) + EncodeNode(key.to);
}

std::string OutPrefix(const GraphNode& node, EdgeType type) {
  return kOutPrefix + EncodeNode(node) + TypeByte(type);
}

std::string InPrefix(const GraphNode& node, EdgeType type) {
  return kInPrefix + EncodeNode(node) + TypeByte(type);
}

std::string OutKey(const EdgeKey& key, float weight) {
  return RowKey()
      .Text(OutPrefix(key.from, key.type))
      .U32(WeightBits(weight))
      .Text(EncodeNode(key.to))
      .Take();
}

std::string InKey(const EdgeKey& key, float weight) {
  return RowKey()
      .Text(InPrefix(key.to, key.type))
      .U32(WeightBits(weight))
      .Text(EncodeNode(key.from))
      .Take();
}

std::string RemovalKey(const GraphNode& node) {
  return kRemovalPrefix + EncodeNode(node);
}

std::optional<EdgeKey> DecodeEdgeRowKey(std::string_view row_key) {
  KeyParts parts(row_key, kEdgePrefix);
  EdgeKey key;
  key.from = parts.Node();
  key.type = parts.Type();
  key.to = parts.Node();
  return parts.Complete() ? std::optional(std::move(key)) : std::nullopt;
}

std::optional<GraphNode> DecodeRemovalKey(std::string_view row_key) {
  KeyParts parts(row_key, kRemovalPrefix);
  GraphNode node = parts.Node();
  return parts.Complete() ? std::optional(std::move(node)) : std::nullopt;
}

std::optional<WeightedKey> DecodeOutKey(std::string_view row_key) {
  KeyParts parts(row_key, kOutPrefix);
  WeightedKey edge;
  edge.key.from = parts.Node();
  edge.key.type = parts.Type();
  edge.weight = parts.Weight();
  edge.key.to = parts.Node();
  return parts.Complete() ? std::optional(std::move(edge)) : std::nullopt;
}

std::optional<WeightedKey> DecodeInKey(std::string_view row_key) {
  KeyParts parts(row_key, kInPrefix);
  WeightedKey edge;
  edge.key.to = parts.Node();
  edge.key.type = parts.Type();
  edge.weight = parts.Weight();
  edge.key.from = parts.Node();
  return parts.Complete() ? std::optional(std::move(edge)) : std::nullopt;
}

std::string EncodeEdge(const GraphEdge& edge) {
  v1::GraphEdge row;
  row.set_weight(edge.weight);
  row.set_created_ms(edge.created_ms);
  row.set_updated_ms(edge.updated_ms);
  return row.SerializeAsString();
}

absl::StatusOr<GraphEdge> DecodeEdge(std::string_view bytes, const EdgeKey& key) {
  constexpr char kRow[] = "an edge row";
  ASSIGN_OR_RETURN(const auto row, ParseRow<v1::GraphEdge>(bytes, kRow));
  if (!(row.weight() >= 0.0F && row.weight() <= 1.0F)) {
    return CorruptRow(kRow);
  }
  return GraphEdge{.key = key,
                   .weight = row.weight(),
                   .created_ms = row.created_ms(),
                   .updated_ms = row.updated_ms()};
}

}  // namespace ruvd::storage::graph
