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

// One search of all banks that a filter names, by a reader that holds a pin. Fills
// scratch.results with the best rows by 8-bit distance.
class Searcher {
 public:
  Searcher(const IndexCore& core, const EncodedQuery& query, SearchScratch& scratch)
      : core_(core), scratch_(scratch), walker_(core, query, scratch) {}

  HnswTrace Run(const SearchRequest& request);

  // Offers those of IndexCore::recent from number `begin` to before `end` that the filter admits.
  // False where there were more than are remembered: the search has to be run again.
  bool Offer(const HnswFilter& filter, uint64_t begin, uint64_t end);

  // Rows whose order is decided by the final distance: more than asked for, since 8-bit distances
  // may be a little out of order.
  static size_t Rescored(size_t k);

 private:
  // Offers rows to the results: of those that the live bits, `base` and the filter leave.
  template <typename Base>
  void Scan(const HnswFilter& filter, const Base& base);
  void ScanMatches();
  void Flush();
  // True where every live row of the bank was looked at.
  bool SearchBank(const SearchRequest& request, size_t bank);
  // Remembers the rows of the tail: one that is linked during the search is there nevertheless.
  void NoteTail();
  struct Matching {
    size_t rows = 0;
    size_t pending = 0;  // of them, in the tail
  };
  // The rows of one bank that the filter admits, into scratch.matches.
  Matching Match(const HnswFilter& filter, size_t bank);
  // The nodes from which a bank's level 0 is walked.
  const std::vector<Candidate>& Enter(const EntryPoint& entry);
  bool WalkBank(const SearchRequest& request, const BankGraph& bank, const Plan& plan,
                bool filtered);

  const IndexCore& core_;
  SearchScratch& scratch_;
  Walker walker_;
  HnswTrace trace_;
};

}  // namespace ruvd::storage::hnsw
