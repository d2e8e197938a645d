// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/tokenizer/merge_table.h"

#include <algorithm>
#include <bit>
#include <tuple>

#include "base/status.h"

namespace ruvd::inference {
namespace {

constexpr int kNone = -1;
// Up to this length, examining every pair is faster than a queue.
constexpr size_t kShortWord = 40;
constexpr uint32_t kNever = UINT32_MAX;

}  // namespace

void MergeTable::Add(Symbol left, Symbol right, Merge merge) {
  RUVD_CHECK(left < kNothing && right < kNothing && merge.rank < kNever);
  if (4 * (used_ + 1) > 3 * slots_.size()) {
    Grow();
  }
  const uint64_t key = Key(left, right);
  size_t at = Place(key);
  while (slots_[at].key != kFree && slots_[at].key != key) {
    at = (at + 1) & mask_;
  }
  if (slots_[at].key == kFree) {
    slots_[at] = {key, merge};
    ++used_;
  }
}

void MergeTable::Grow() {
  std::vector<Slot> old(std::max<size_t>(64, 2 * slots_.size()));
  old.swap(slots_);
  mask_ = slots_.size() - 1;
  shift_ = std::countl_zero(slots_.size()) + 1;
  for (const Slot& slot : old) {
    if (slot.key == kFree) {
      continue;
    }
    size_t at = Place(slot.key);
    while (slots_[at].key != kFree) {
      at = (at + 1) & mask_;
    }
    slots_[at] = slot;
  }
}

void MergeTable::Apply(std::vector<Symbol>* symbols, Workspace* workspace, Symbol forbidden) const {
  if (symbols->size() <= kShortWord) {
    ApplyToShort(symbols, workspace, forbidden);
  } else {
    ApplyToLong(symbols, workspace, forbidden);
  }
}

void MergeTable::ApplyToShort(std::vector<Symbol>* symbols, Workspace* workspace,
                              Symbol forbidden) const {
  std::vector<Symbol>& word = *symbols;
  std::vector<Merge>& pairs = workspace->pairs_;  // pairs[i] merges word[i] and word[i + 1]
  const auto look_up = [&](size_t i) {
    const Merge* merge = Find(word[i], word[i + 1]);
    return merge == nullptr || merge->result == forbidden ? Merge{kNever, 0} : *merge;
  };
  pairs.clear();
  for (size_t i = 0; i + 1 < word.size(); ++i) {
    pairs.push_back(look_up(i));
  }
  while (!pairs.empty()) {
    const auto best = std::min_element(
        pairs.begin(), pairs.end(), [](const Merge& a, const Merge& b) { return a.rank < b.rank; });
    if (best->rank == kNever) {
      return;
    }
    const auto at = static_cast<size_t>(best - pairs.begin());
    word[at] = best->result;
    word.erase(word.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    pairs.erase(best);
    if (at > 0) {
      pairs[at - 1] = look_up(at - 1);
    }
    if (at < pairs.size()) {
      pairs[at] = look_up(at);
    }
  }
}

void MergeTable::Offer(int left, int right, Workspace* workspace, Symbol forbidden) const {
  if (left == kNone || right == kNone) {
    return;
  }
  const Symbol left_symbol = workspace->pieces_[static_cast<size_t>(left)].symbol;
  const Symbol right_symbol = workspace->pieces_[static_cast<size_t>(right)].symbol;
  const Merge* merge = Find(left_symbol, right_symbol);
  if (merge == nullptr || merge->result == forbidden) {
    return;
  }
  workspace->queue_.push_back({merge->rank, left, right, left_symbol, right_symbol, merge->result});
}

// Uses a queue of candidate pairs over a linked list of pieces.
void MergeTable::ApplyToLong(std::vector<Symbol>* symbols, Workspace* workspace,
                             Symbol forbidden) const {
  using Candidate = Workspace::Candidate;
  auto& pieces = workspace->pieces_;
  auto& queue = workspace->queue_;
  const auto later = [](const Candidate& a, const Candidate& b) {
    return std::tie(a.rank, a.left) > std::tie(b.rank, b.left);
  };
  const auto count = static_cast<int>(symbols->size());
  pieces.clear();
  queue.clear();
  for (int i = 0; i < count; ++i) {
    pieces.push_back({(*symbols)[static_cast<size_t>(i)], i - 1, i + 1 < count ? i + 1 : kNone,
                      /*gone=*/false});
  }
  for (int i = 1; i < count; ++i) {
    Offer(i - 1, i, workspace, forbidden);
  }
  std::make_heap(queue.begin(), queue.end(), later);
  const auto offer = [&](int left, int right) {
    const size_t before = queue.size();
    Offer(left, right, workspace, forbidden);
    if (queue.size() > before) {
      std::push_heap(queue.begin(), queue.end(), later);
    }
  };
  while (!queue.empty()) {
    std::pop_heap(queue.begin(), queue.end(), later);
    const Candidate best = queue.back();
    queue.pop_back();
    auto& left = pieces[static_cast<size_t>(best.left)];
    auto& right = pieces[static_cast<size_t>(best.right)];
    // Pieces only grow or vanish, so equal symbols mean that nothing has changed since the pair was
    // queued.
    if (left.gone || right.gone || left.symbol != best.left_symbol ||
        right.symbol != best.right_symbol || left.next != best.right) {
      continue;
    }
    left.symbol = best.result;
    left.next = right.next;
    right.gone = true;
    if (left.next != kNone) {
      pieces[static_cast<size_t>(left.next)].previous = best.left;
    }
    offer(left.previous, best.left);
    offer(best.left, left.next);
  }
  symbols->clear();
  for (const auto& piece : pieces) {
    if (!piece.gone) {
      symbols->push_back(piece.symbol);
    }
  }
}

}  // namespace ruvd::inference
