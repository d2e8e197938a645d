// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace ruvd::federation {

// The hash tree of RFC 6962, section 2.1, with SHA-256, over the chunks of a payload. With it, each
// chunk can be checked on arrival against a root of 32 bytes.
class MerkleTree {
 public:
  // Splits `payload` into chunks of kChunkBytes. An empty payload has one empty chunk.
  explicit MerkleTree(std::string_view payload);

  const Digest& root() const { return root_; }
  uint32_t chunks() const { return static_cast<uint32_t>(leaves_.size()); }
  // Returns the audit path of a chunk, from leaf to root. index < chunks().
  std::vector<Digest> Path(uint32_t index) const;

 private:
  std::vector<Digest> leaves_;
  Digest root_;
};

// Returns the number of chunks of a payload of `bytes`.
uint32_t ChunksOf(uint64_t bytes);

// Returns whether `chunk` is number `index` of `chunks` under `root`. Accepts any input.
bool VerifyChunk(const Digest& root, uint32_t chunks, uint32_t index, std::string_view chunk,
                 std::span<const Digest> path);

}  // namespace ruvd::federation
