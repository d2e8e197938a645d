// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "storage/hnsw/attributes.h"
#include "storage/hnsw/distances.h"
#include "storage/hnsw/index_core.h"
#include "storage/hnsw/planner.h"
#include "storage/hnsw/walk.h"

namespace ruvd::storage::hnsw {

struct SearchRequest {
  size_t k = 0;
  size_t ef = 0;  // at least k
  const HnswFilter& filter;
  HnswPath path = HnswPath::kAuto;
};

// One search of all banks that a filter names, by a reader that holds a pin. It fills
// scratch.results with the best rows by 8-bit distance.
class Searcher {
 public:
  Searcher(const IndexCore& core, const EncodedQuery& query, SearchScratch& scratch)
      : core_(core), scratch_(scratch), walker_(core, query, scratch) {}

  HnswTrace Run(const SearchRequest& request);

  // Offers the nodes of IndexCore::recent from number `begin` to before `end` that the filter
  // admits to the results. Returns false when some of them are forgotten: the search has to run
  // again.
  bool Offer(const HnswFilter& filter, uint64_t begin, uint64_t end);

  // Returns how many rows get a final distance. It is more than k, because 8-bit distances may be
  // slightly out of order.
  static size_t RescoreCount(size_t k);

 private:
  // Offers rows to the results: those that are live, in `base` and admitted by the filter.
  template <typename Base>
  void Scan(const HnswFilter& filter, const Base& base);
  void ScanMatches();
  void Flush();
  // Returns true when it looked at every live row of the bank.
  bool SearchBank(const SearchRequest& request, size_t bank);
  // Records the rows of the tail, so that a row that is linked during the search is still scanned.
  void SnapshotTail();
  struct Matching {
    size_t rows = 0;
    size_t pending = 0;  // the part of them that is in the tail
  };
  // Writes the rows of one bank that the filter admits to scratch.matches and counts them.
  Matching Match(const HnswFilter& filter, size_t bank);
  // Returns the nodes from which a walk of a bank's level 0 starts.
  const std::vector<Candidate>& Enter(const EntryPoint& entry);
  bool WalkBank(const SearchRequest& request, const BankGraph& bank, const Plan& plan,
                bool filtered);

  const IndexCore& core_;
  SearchScratch& scratch_;
  Walker walker_;
  HnswTrace trace_;
};

}  // namespace ruvd::storage::hnsw
