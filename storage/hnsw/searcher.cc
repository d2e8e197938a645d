// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/hnsw/searcher.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <unordered_set>

namespace ruvd::storage::hnsw {
namespace {

constexpr size_t kScanBatch = 256;
// A bank with fewer rows is scanned faster than its graph is walked; all such banks share one scan.
constexpr size_t kSmallBank = 1000;
constexpr size_t kMinRescored = 40;
// A walk keeps this many candidates for each result, those not accepted included. The planner
// chooses a walk when at least one row in sixteen matches, or one in thirty in an index of the
// largest size.
constexpr size_t kPoolPart = 32;
// The number of level 1 nodes from which level 0 is entered. With one of them, a walk of breadth 24
// finds 0.947 of the nearest among 100,000 clustered rows; with 4, 8 and 16 it finds 0.953, 0.959
// and 0.969.
constexpr size_t kEntries = 16;

}  // namespace

size_t Searcher::RescoreCount(size_t k) {
  return std::max(2 * k, kMinRescored);
}

void Searcher::Flush() {
  const size_t n = walker_.distances().FilterWithin(scratch_.ids, scratch_.results.bound());
  for (size_t i = 0; i < n; ++i) {
    scratch_.results.Insert(scratch_.buffers.distances[i], scratch_.buffers.kept[i], true);
  }
  trace_.measured += scratch_.ids.size();
  scratch_.ids.clear();
}

template <typename Base>
void Searcher::Scan(const HnswFilter& filter, const Base& base) {
  const size_t words = WordsFor(core_.nodes.size());
  scratch_.ids.clear();
  for (size_t word = 0; word < words; ++word) {
    uint64_t mask = base(word);
    mask = mask == 0 ? 0 : core_.attributes.Matches(word, filter, mask & core_.live.Word(word));
    for (; mask != 0; mask &= mask - 1) {
      scratch_.ids.push_back(
          static_cast<uint32_t>(word * kWordBits + static_cast<size_t>(std::countr_zero(mask))));
    }
    if (scratch_.ids.size() >= kScanBatch) {
      Flush();
    }
  }
  Flush();
}

void Searcher::ScanMatches() {
  trace_.scanned = true;
  scratch_.ids.clear();
  for (size_t word = 0; word < scratch_.matches.size(); ++word) {
    for (uint64_t mask = scratch_.matches[word]; mask != 0; mask &= mask - 1) {
      scratch_.ids.push_back(
          static_cast<uint32_t>(word * kWordBits + static_cast<size_t>(std::countr_zero(mask))));
    }
    if (scratch_.ids.size() >= kScanBatch) {
      Flush();
    }
  }
  Flush();
}

Searcher::Matching Searcher::Match(const HnswFilter& filter, size_t bank) {
  HnswFilter of_bank = filter;
  of_bank.banks = uint64_t{1} << bank;
  const size_t words = WordsFor(core_.nodes.size());
  scratch_.matches.resize(words);
  Matching matching;
  for (size_t word = 0; word < words; ++word) {
    const uint64_t mask = core_.attributes.Matches(word, of_bank, core_.live.Word(word));
    scratch_.matches[word] = mask;
    matching.rows += static_cast<size_t>(std::popcount(mask));
    matching.pending += static_cast<size_t>(std::popcount(mask & core_.pending.Word(word)));
  }
  return matching;
}

bool Searcher::CatchUp(const HnswFilter& filter) {
  // This comes first: the successor of what is gone now is among those before `now`.
  scratch_.results.Drop([this](uint32_t node) {
    const bool gone = !core_.live.Get(node);
    lacks_rows_ = lacks_rows_ || (gone && !core_.replaced.Get(node));
    return gone;
  });
  const uint64_t now = core_.recent.count();
  scratch_.ids.clear();
  // The last change of attributes may have been going on at the last look: it is looked at again.
  const uint64_t begin = seen_ - (seen_ > 0 ? 1 : 0);
  const bool remembered = core_.recent.Get(begin, now, &scratch_.ids);
  // A node from before the reader began may belong to another row by now.
  const size_t earlier = begin < began_ ? 1 : 0;
  seen_ = now;
  if (!remembered) {
    return false;
  }
  KeepNewest(earlier, filter);
  Flush();
  return true;
}

void Searcher::KeepNewest(size_t earlier, const HnswFilter& filter) {
  std::vector<uint32_t>& ids = scratch_.ids;
  std::unordered_set<uint32_t> labels;
  size_t kept = ids.size();
  for (size_t i = ids.size(); i-- > 0;) {
    const bool there = core_.live.Get(ids[i]) || (i >= earlier && core_.replaced.Get(ids[i]));
    if (!there || labels.contains(core_.nodes.info(ids[i]).label)) {
      continue;
    }
    if (i > 0) {  // mostly there is one number, which needs no set
      labels.insert(core_.nodes.info(ids[i]).label);
    }
    if (core_.attributes.Admits(ids[i], filter)) {
      ids[--kept] = ids[i];
    }
  }
  ids.erase(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(kept));
}

// A single way down sometimes ends in the wrong cluster. So level 1 is walked with some breadth,
// and the walk of level 0 starts from all nodes found.
const std::vector<Candidate>& Searcher::Enter(const EntryPoint& entry) {
  scratch_.entries.assign(1, walker_.Descend(entry, std::min<size_t>(entry.level, 1)));
  if (entry.level > 0) {
    walker_.Walk(scratch_.entries, {.level = 1, .ef = kEntries}, AcceptAll());
    const auto found = scratch_.walk.entries();
    scratch_.entries.assign(found.begin(), found.end());
  }
  return scratch_.entries;
}

bool Searcher::WalkBank(const SearchRequest& request, const BankGraph& bank, const Plan& plan,
                        bool filtered) {
  const EntryPoint entry = bank.entry();
  if (entry.node == kNoNode) {
    return false;
  }
  const std::vector<Candidate>& near = Enter(entry);
  const bool bounded = request.path == HnswPath::kAuto;
  const WalkOptions options{
      .ef = request.ef,
      .two_hop = plan.path == HnswPath::kTwoHop,
      .budget = plan.budget,
      .pool_limit = bounded ? kPoolPart * request.ef : std::numeric_limits<size_t>::max()};
  bool finished = false;
  if (filtered) {
    finished = walker_.Walk(near, options, AcceptMatches{scratch_.matches});
  } else if (bank.linked_dead.load(std::memory_order_relaxed) > 0) {
    finished = walker_.Walk(near, options, AcceptLive{core_.live});
  } else {
    finished = walker_.Walk(near, options, AcceptAll());
  }
  trace_.walked = true;
  trace_.two_hop = trace_.two_hop || options.two_hop;
  for (const Candidate& found : scratch_.walk.entries()) {
    if (found.accepted) {
      scratch_.results.Insert(found.distance, found.node, true);
    }
  }
  return finished;
}

bool Searcher::SearchBank(const SearchRequest& request, size_t bank_number) {
  const BankGraph& bank = core_.banks[bank_number];
  const bool filtered = !request.filter.admits_all_of_its_banks();
  const size_t rows = bank.live.load(std::memory_order_relaxed);
  const size_t linked = bank.linked.load(std::memory_order_relaxed);
  const Matching matching =
      filtered ? Match(request.filter, bank_number) : Matching{rows, rows - std::min(rows, linked)};
  trace_.matching += matching.rows;
  if (matching.rows == 0) {
    return true;
  }
  const Plan plan = MakePlan({.matching = matching.rows,
                              .rows = rows,
                              .linked = linked,
                              .removed = bank.linked_dead.load(std::memory_order_relaxed),
                              .ef = request.ef,
                              .width = 2 * core_.options.m},
                             request.path);
  if (plan.path != HnswPath::kScan) {
    const bool finished = WalkBank(request, bank, plan, filtered);
    // The answer must never be shorter than what there is: a filter can split the graph into
    // islands, and a walk that found less than its breadth has only seen one of them. Rows of the
    // tail are scanned separately.
    const size_t in_graph = matching.rows - matching.pending;
    if (finished && scratch_.walk.accepted() >= std::min(request.ef, in_graph)) {
      return false;
    }
    trace_.gave_up = true;
  }
  if (!filtered) {
    Match(request.filter, bank_number);
  }
  ScanMatches();
  return true;
}

void Searcher::SnapshotTail() {
  scratch_.tail.clear();
  if (core_.pending_count.load(std::memory_order_acquire) > 0) {
    scratch_.tail.resize(WordsFor(core_.nodes.size()));
    for (size_t word = 0; word < scratch_.tail.size(); ++word) {
      scratch_.tail[word] = core_.pending.Word(word);
    }
  }
}

HnswTrace Searcher::Run(const SearchRequest& request) {
  trace_ = {};
  lacks_rows_ = false;
  scratch_.results.Begin(RescoreCount(request.k));
  SnapshotTail();
  HnswFilter small = request.filter;
  HnswFilter walked = request.filter;
  small.banks = 0;
  for (size_t bank = 0; bank < limits::kMaxBanks; ++bank) {
    const size_t rows = core_.banks[bank].live.load(std::memory_order_relaxed);
    if (((request.filter.banks >> bank) & 1U) == 0 || rows == 0) {
      continue;
    }
    if (rows <= kSmallBank && request.path == HnswPath::kAuto) {
      small.banks |= uint64_t{1} << bank;
    } else if (SearchBank(request, bank)) {
      walked.banks &= ~(uint64_t{1} << bank);
    }
  }
  walked.banks &= ~small.banks;
  if (small.banks != 0) {
    trace_.scanned = true;
    Scan(small, [&](size_t word) { return core_.live.Word(word); });
  }
  // This comes after the walks: most of the tail is farther than what they found, and the high
  // plane alone shows that.
  if (walked.banks != 0 && !scratch_.tail.empty()) {
    Scan(walked, [&](size_t word) {
      return word < scratch_.tail.size() ? scratch_.tail[word] : uint64_t{0};
    });
  }
  trace_.measured += walker_.measured();
  return trace_;
}

}  // namespace ruvd::storage::hnsw
