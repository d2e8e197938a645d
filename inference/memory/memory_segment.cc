// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/memory/memory_segment.h"

#include <algorithm>
#include <limits>

#include "base/status.h"
#include "inference/gguf/quantize.h"
#include "inference/kernels/packing.h"

namespace ruvd::inference {
namespace {

size_t RoundUp(size_t value, size_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace

size_t MemorySegment::PlacesOf(const MemoryRun& run) {
  return RoundUp(run.tokens().size() + kMemoryLeft, kGroupOutputs);
}

MemorySegment::MemorySegment(size_t places, size_t blocks)
    : blocks_(blocks),
      biases_(places, -std::numeric_limits<float>::infinity()),
      tokens_(kMemoryLeft + places, kNoToken) {
  keys_ = AlignedBuffer(places / kGroupOutputs * GroupBytes());
}

std::shared_ptr<const MemorySegment> MemorySegment::Make(
    std::span<const std::shared_ptr<const MemoryRun>> runs) {
  RUVD_CHECK(!runs.empty());
  size_t places = 0;
  for (const auto& run : runs) {
    RUVD_CHECK(run->dimension() == runs.front()->dimension());
    places += PlacesOf(*run);
  }
  std::shared_ptr<MemorySegment> segment(
      new MemorySegment(places, static_cast<size_t>(runs.front()->dimension()) / kBlockColumns));
  size_t begin = 0;
  for (const auto& run : runs) {
    const size_t first = begin + run->context();
    segment->stretches_.push_back({.id = run->id(),
                                   .begin = static_cast<uint32_t>(begin),
                                   .first = static_cast<uint32_t>(first),
                                   .end = static_cast<uint32_t>(first + run->size()),
                                   .places = static_cast<uint32_t>(PlacesOf(*run))});
    std::ranges::copy(run->biases(), segment->biases_.begin() + static_cast<ptrdiff_t>(first));
    std::ranges::copy(run->tokens(),
                      segment->tokens_.begin() + static_cast<ptrdiff_t>(kMemoryLeft + begin));
    segment->PackKeys(*run, segment->stretches_.back());
    begin += PlacesOf(*run);
  }
  segment->IndexTokens();
  return segment;
}

std::shared_ptr<const MemorySegment> MemorySegment::Join(std::span<const Piece> pieces) {
  RUVD_CHECK(!pieces.empty());
  size_t places = 0;
  for (const Piece& piece : pieces) {
    RUVD_CHECK(piece.segment->blocks_ == pieces.front().segment->blocks_);
    places += piece.segment->stretches_[piece.stretch].places;
  }
  std::shared_ptr<MemorySegment> segment(
      new MemorySegment(places, pieces.front().segment->blocks_));
  size_t begin = 0;
  for (const Piece& piece : pieces) {
    const MemorySegment& from = *piece.segment;
    const Stretch& old = from.stretches_[piece.stretch];
    const auto moved = static_cast<uint32_t>(begin);
    segment->stretches_.push_back({.id = old.id,
                                   .begin = moved,
                                   .first = moved + (old.first - old.begin),
                                   .end = moved + (old.end - old.begin),
                                   .places = old.places});
    std::copy_n(from.biases_.begin() + old.begin, old.places,
                segment->biases_.begin() + static_cast<ptrdiff_t>(begin));
    std::copy_n(from.tokens_.begin() + static_cast<ptrdiff_t>(kMemoryLeft) + old.begin, old.places,
                segment->tokens_.begin() + static_cast<ptrdiff_t>(kMemoryLeft + begin));
    std::copy_n(from.keys_.data() + old.begin / kGroupOutputs * from.GroupBytes(),
                old.places / kGroupOutputs * from.GroupBytes(),
                segment->keys_.data() + begin / kGroupOutputs * from.GroupBytes());
    begin += old.places;
  }
  segment->IndexTokens();
  return segment;
}

size_t MemorySegment::GroupBytes() const {
  return PackedGroupBytes(PackedFormatOf(TensorType::kQ8_0), blocks_);
}

void MemorySegment::PackKeys(const MemoryRun& run, const Stretch& stretch) {
  const size_t columns = blocks_ * kBlockColumns;
  const size_t row_bytes = columns / BlockValues(TensorType::kQ8_0) * BlockBytes(TensorType::kQ8_0);
  std::vector<uint8_t> rows(stretch.places * row_bytes);
  std::ranges::copy(run.keys(), rows.begin() + static_cast<ptrdiff_t>(run.context() * row_bytes));
  PackGroups({.type = TensorType::kQ8_0,
              .outputs = stretch.places,
              .columns = columns,
              .data = rows.data(),
              .row_bytes = row_bytes},
             0, stretch.places / kGroupOutputs,
             keys_.data() + stretch.begin / kGroupOutputs * GroupBytes());
}

void MemorySegment::IndexTokens() {
  for (size_t place = 0; place < places(); ++place) {
    if (token(static_cast<ptrdiff_t>(place)) != kNoToken) {
      token_places_.push_back(static_cast<uint32_t>(place));
    }
  }
  std::ranges::stable_sort(token_places_, [this](uint32_t a, uint32_t b) {
    return token(static_cast<ptrdiff_t>(a)) < token(static_cast<ptrdiff_t>(b));
  });
  for (size_t i = 0; i < token_places_.size(); ++i) {
    const TokenId here = token(static_cast<ptrdiff_t>(token_places_[i]));
    if (distinct_.empty() || distinct_.back() != here) {
      distinct_.push_back(here);
      ends_.push_back(0);
    }
    ends_.back() = static_cast<uint32_t>(i + 1);
  }
}

std::span<const uint32_t> MemorySegment::PlacesOfToken(TokenId token) const {
  const auto found = std::ranges::lower_bound(distinct_, token);
  if (found == distinct_.end() || *found != token) {
    return {};
  }
  const auto index = static_cast<size_t>(found - distinct_.begin());
  const size_t begin = index == 0 ? 0 : ends_[index - 1];
  return std::span(token_places_).subspan(begin, ends_[index] - begin);
}

PackedView MemorySegment::Keys(size_t begin, size_t places) const {
  return {.type = TensorType::kQ8_0,
          .outputs = places,
          .blocks = blocks_,
          .group_bytes = GroupBytes(),
          .data = keys_.data() + begin / kGroupOutputs * GroupBytes()};
}

size_t MemorySegment::bytes() const {
  return sizeof(*this) + stretches_.capacity() * sizeof(Stretch) + keys_.size() +
         biases_.capacity() * sizeof(float) +
         (tokens_.capacity() + distinct_.capacity()) * sizeof(TokenId) +
         (ends_.capacity() + token_places_.capacity()) * sizeof(uint32_t);
}

}  // namespace ruvd::inference
