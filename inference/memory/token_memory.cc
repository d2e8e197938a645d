// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/memory/token_memory.h"

#include <algorithm>
#include <utility>

#include "inference/memory/limits.h"

namespace ruvd::inference {

TokenMemory::TokenMemory(std::span<const std::shared_ptr<const MemoryRun>> runs) {
  std::vector<std::shared_ptr<const MemoryRun>> kept;
  std::set<uint64_t> later;
  for (size_t i = runs.size(); i-- > 0;) {
    if (later.insert(runs[i]->id()).second && runs[i]->size() > 0) {
      kept.push_back(runs[i]);
    }
  }
  std::ranges::reverse(kept);
  for (size_t begin = 0; begin < kept.size();) {
    size_t end = begin;
    size_t places = 0;
    while (end < kept.size() && (end == begin || places + MemorySegment::PlacesOf(*kept[end]) <=
                                                     limits::kMaxMemorySegment)) {
      places += MemorySegment::PlacesOf(*kept[end++]);
    }
    segments_.push_back(MemorySegment::Make(std::span(kept).subspan(begin, end - begin)));
    begin = end;
  }
  Count();
}

std::shared_ptr<const TokenMemory> TokenMemory::With(
    const std::shared_ptr<const MemoryRun>& run) const {
  auto memory = std::make_shared<TokenMemory>(Has(run->id()) ? *Without(run->id()) : *this);
  if (run->size() > 0) {
    memory->Append(run);
  }
  return memory;
}

std::shared_ptr<const TokenMemory> TokenMemory::Without(const std::set<uint64_t>& ids) const {
  auto memory = std::make_shared<TokenMemory>();
  for (const auto& segment : segments_) {
    std::vector<MemorySegment::Piece> left;
    for (size_t i = 0; i < segment->stretches().size(); ++i) {
      if (!ids.contains(segment->stretches()[i].id)) {
        left.push_back({.segment = segment.get(), .stretch = i});
      }
    }
    if (left.size() == segment->stretches().size()) {
      memory->segments_.push_back(segment);
    } else if (!left.empty()) {
      memory->segments_.push_back(MemorySegment::Join(left));
    }
  }
  memory->Count();
  return memory;
}

bool TokenMemory::Has(uint64_t id) const {
  return std::ranges::any_of(segments_, [id](const auto& segment) {
    return std::ranges::any_of(segment->stretches(),
                               [id](const auto& stretch) { return stretch.id == id; });
  });
}

TokenMemory TokenMemory::Joined(const TokenMemory& other) const {
  TokenMemory joined = *this;
  joined.segments_.insert(joined.segments_.end(), other.segments_.begin(), other.segments_.end());
  joined.Count();
  return joined;
}

void TokenMemory::Append(const std::shared_ptr<const MemoryRun>& run) {
  segments_.push_back(MemorySegment::Make(std::span(&run, 1)));
  MergeLast();
  Count();
}

void TokenMemory::MergeLast() {
  size_t first = segments_.size() - 1;
  size_t places = segments_[first]->places();
  while (first > 0 && segments_[first - 1]->places() < 2 * places &&
         segments_[first - 1]->places() + places <= limits::kMaxMemorySegment) {
    places += segments_[--first]->places();
  }
  if (first + 1 == segments_.size()) {
    return;
  }
  std::vector<MemorySegment::Piece> pieces;
  for (size_t i = first; i < segments_.size(); ++i) {
    for (size_t stretch = 0; stretch < segments_[i]->stretches().size(); ++stretch) {
      pieces.push_back({.segment = segments_[i].get(), .stretch = stretch});
    }
  }
  std::shared_ptr<const MemorySegment> merged = MemorySegment::Join(pieces);
  segments_.resize(first);
  segments_.push_back(std::move(merged));
}

void TokenMemory::Count() {
  runs_ = 0;
  entries_ = 0;
  tokens_ = 0;
  for (const auto& segment : segments_) {
    for (const MemorySegment::Stretch& stretch : segment->stretches()) {
      ++runs_;
      entries_ += stretch.entries();
      tokens_ += stretch.tokens();
    }
  }
}

size_t TokenMemory::bytes() const {
  size_t bytes = sizeof(*this);
  for (const auto& segment : segments_) {
    bytes += segment->bytes();
  }
  return bytes;
}

size_t TokenMemory::CountOf(TokenId token) const {
  size_t count = 0;
  for (const auto& segment : segments_) {
    count += segment->PlacesOfToken(token).size();
  }
  return count;
}

bool TokenMemory::HasPair(TokenId left, TokenId right) const {
  return std::ranges::any_of(segments_, [&](const auto& segment) {
    const std::span<const uint32_t> lefts = segment->PlacesOfToken(left);
    const std::span<const uint32_t> rights = segment->PlacesOfToken(right);
    return lefts.size() <= rights.size()
               ? std::ranges::any_of(
                     lefts, [&](uint32_t place) { return segment->token(place + 1) == right; })
               : std::ranges::any_of(rights, [&](uint32_t place) {
                   return segment->token(static_cast<ptrdiff_t>(place) - 1) == left;
                 });
  });
}

}  // namespace ruvd::inference
