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
      : core_(core),
        scratch_(scratch),
        walker_(core, query, scratch),
        began_(core.recent.count()),
        seen_(began_) {}

  HnswTrace Run(const SearchRequest& request);

  // Drops results whose rows were removed or replaced, and offers the rows that took the place of
  // others, or whose attributes changed, since the last call or the creation of the searcher. What
  // was replaced again by now stays a result: its successor is offered next time. Returns false
  // when some are forgotten: the search has to run again.
  bool CatchUp(const HnswFilter& filter);

  // Returns whether rows took the place of others since the last call of CatchUp.
  bool is_behind() const { return core_.recent.count() != seen_; }
  // Returns whether removed rows took room in the results from others that are farther.
  bool lacks_rows() const { return lacks_rows_; }

  // Returns how many rows get a final distance. It is more than k, because 8-bit distances may be
  // slightly out of order.
  static size_t RescoreCount(size_t k);

 private:
  // Offers rows to the results: those that are live, in `base` and admitted by the filter.
  template <typename Base>
  void Scan(const HnswFilter& filter, const Base& base);
  void ScanMatches();
  void Flush();
  // Leaves in scratch.ids, numbers of IndexCore::recent in order, the newest node of each row if it
  // is live or was replaced, and if the filter admits it. The first `earlier` ones must be live.
  void KeepNewest(size_t earlier, const HnswFilter& filter);
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
  // Counts of IndexCore::recent: when the reader began, and at the last call of CatchUp.
  uint64_t began_ = 0;
  uint64_t seen_ = 0;
  bool lacks_rows_ = false;
  HnswTrace trace_;
};

}  // namespace ruvd::storage::hnsw
