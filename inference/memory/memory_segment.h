// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "inference/kernels/aligned_buffer.h"
#include "inference/kernels/packed.h"
#include "inference/memory/memory_run.h"

namespace ruvd::inference {

// Runs that are scanned together. Each token has a place; the keys of 16 places form a group for
// the integer kernels. A run begins with a group and is followed by at least kMemoryLeft places
// without a token, so that the neighbours of an entry are the places beside it. A segment owns its
// copy of all that it holds. Instances are immutable.
class MemorySegment {
 public:
  // A run in the segment
  struct Stretch {
    uint64_t id = 0;
    uint32_t begin = 0;   // place of the run's first token: a multiple of 16
    uint32_t first = 0;   // place of the first entry
    uint32_t end = 0;     // one beyond the last entry
    uint32_t places = 0;  // a multiple of 16
    size_t entries() const { return end - first; }
    size_t tokens() const { return end - begin; }
  };
  // A run of some segment
  struct Piece {
    const MemorySegment* segment = nullptr;
    size_t stretch = 0;
  };

  // `runs` must not be empty and must have keys of one dimension.
  static std::shared_ptr<const MemorySegment> Make(
      std::span<const std::shared_ptr<const MemoryRun>> runs);
  // Makes a segment of runs of other segments, which must not be empty and have one dimension.
  static std::shared_ptr<const MemorySegment> Join(std::span<const Piece> pieces);
  // Returns the places that a run takes.
  static size_t PlacesOf(const MemoryRun& run);

  // In the order of their places
  std::span<const Stretch> stretches() const { return stretches_; }
  size_t places() const { return biases_.size(); }
  size_t bytes() const;

  // The keys of `places` places from `begin` on, both multiples of 16
  PackedView Keys(size_t begin, size_t places) const;
  // By place; minus infinity where there is no entry that votes
  std::span<const float> biases() const { return biases_; }
  // The token at a place, which may be up to kMemoryLeft before the first; kNoToken for none
  TokenId token(ptrdiff_t place) const {
    return tokens_[static_cast<size_t>(place + static_cast<ptrdiff_t>(kMemoryLeft))];
  }
  // The places of a token, ascending
  std::span<const uint32_t> PlacesOfToken(TokenId token) const;

 private:
  MemorySegment(size_t places, size_t blocks);
  size_t GroupBytes() const;
  void PackKeys(const MemoryRun& run, const Stretch& stretch);
  void IndexTokens();

  std::vector<Stretch> stretches_;
  size_t blocks_ = 0;  // of a key
  AlignedBuffer keys_;
  std::vector<float> biases_;
  std::vector<TokenId> tokens_;  // kMemoryLeft without a token, then one for each place
  // Tokens that occur, ascending, with the ends of their lists in token_places_
  std::vector<TokenId> distinct_;
  std::vector<uint32_t> ends_;
  std::vector<uint32_t> token_places_;
};

}  // namespace ruvd::inference
