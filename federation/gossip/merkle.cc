// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/gossip/merkle.h"

#include <algorithm>
#include <bit>

#include "base/status.h"
#include "federation/limits.h"

namespace ruvd::federation {
namespace {

Digest LeafHash(std::string_view chunk) {
  constexpr uint8_t kLeaf[] = {0};
  return Sha256({kLeaf, AsBytes(chunk)});
}

Digest NodeHash(const Digest& left, const Digest& right) {
  constexpr uint8_t kNode[] = {1};
  return Sha256({kNode, left, right});
}

// Returns the largest power of two below n, n >= 2, at which RFC 6962 splits.
size_t SplitPoint(size_t n) {
  return std::bit_floor(n - 1);
}

Digest RootOf(std::span<const Digest> leaves) {
  if (leaves.size() == 1) {
    return leaves[0];
  }
  const size_t split = SplitPoint(leaves.size());
  return NodeHash(RootOf(leaves.first(split)), RootOf(leaves.subspan(split)));
}

void AppendPath(std::span<const Digest> leaves, size_t index, std::vector<Digest>& path) {
  if (leaves.size() == 1) {
    return;
  }
  const size_t split = SplitPoint(leaves.size());
  if (index < split) {
    AppendPath(leaves.first(split), index, path);
    path.push_back(RootOf(leaves.subspan(split)));
  } else {
    AppendPath(leaves.subspan(split), index - split, path);
    path.push_back(RootOf(leaves.first(split)));
  }
}

}  // namespace

uint32_t ChunksOf(uint64_t bytes) {
  return static_cast<uint32_t>(
      std::max<uint64_t>(1, (bytes + limits::kChunkBytes - 1) / limits::kChunkBytes));
}

MerkleTree::MerkleTree(std::string_view payload) {
  const uint32_t count = ChunksOf(payload.size());
  leaves_.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    leaves_.push_back(LeafHash(payload.substr(i * limits::kChunkBytes, limits::kChunkBytes)));
  }
  root_ = RootOf(leaves_);
}

std::vector<Digest> MerkleTree::Path(uint32_t index) const {
  RUVD_CHECK(index < leaves_.size());
  std::vector<Digest> path;
  AppendPath(leaves_, index, path);
  return path;
}

bool VerifyChunk(const Digest& root, uint32_t chunks, uint32_t index, std::string_view chunk,
                 std::span<const Digest> path) {
  if (index >= chunks) {
    return false;
  }
  // This is RFC 9162, section 2.1.3.2: walks up with the indices of the leaf and of the last leaf.
  uint64_t position = index;
  uint64_t last = uint64_t{chunks} - 1;
  Digest hash = LeafHash(chunk);
  for (const Digest& sibling : path) {
    if (last == 0) {
      return false;  // the path is too long
    }
    if ((position & 1) != 0 || position == last) {
      hash = NodeHash(sibling, hash);
      while ((position & 1) == 0 && position != 0) {
        position >>= 1;
        last >>= 1;
      }
    } else {
      hash = NodeHash(hash, sibling);
    }
    position >>= 1;
    last >>= 1;
  }
  return last == 0 && hash == root;
}

}  // namespace ruvd::federation
