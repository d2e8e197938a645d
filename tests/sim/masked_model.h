// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "federation/events/item.h"
#include "federation/learner/plan.h"
#include "federation/learner/round_set.h"
#include "privacy/masking/clique.h"

namespace ruvd::test {

// Contributions and sums by id.
using ContributionPtr = std::shared_ptr<const federation::RoundContribution>;
using ContributionSet = std::map<Digest, ContributionPtr>;

// The masked sums of a world, worked out from what every member put into its share, and not from
// the shares: their values are never read. Not thread-safe.
class MaskedModel {
 public:
  // What items of masked rounds give.
  struct Sums {
    ContributionSet sums;  // by set hash
    std::string differs;   // in what federation/masked finds others; empty: in nothing
  };
  using Items = std::map<Digest, federation::Item>;

  explicit MaskedModel(std::shared_ptr<const federation::LearnerPlan> plan);

  // The payload of this share hides these units, noise included. A share that is not reported here
  // hides nothing, so no sum with it may count.
  void Gave(std::string_view payload, std::vector<int32_t> units);
  // Returns the sums of `items`, which are of one round: those of all sets whose members gave their
  // shares, except members that contradict themselves. Computed once for equal items.
  const Sums& SumsOf(uint64_t round, const Items& items);

  // Returns how many different sums were found.
  size_t found() const { return found_.size(); }
  // Returns the rounds and members of these sums.
  const std::set<std::pair<uint64_t, privacy::NodeId>>& summed() const { return summed_; }

 private:
  using Name = std::pair<uint8_t, Digest>;  // of a set: its attempt and its hash
  // What items say.
  struct Statements {
    std::map<std::tuple<uint8_t, federation::ItemKind, privacy::NodeId>, std::set<Digest>> said;
    std::map<Name, privacy::masking::Clique> sets;
    std::map<Name, std::map<privacy::NodeId, Digest>> shares;  // hashes of payloads
  };

  Statements Read(const Items& items) const;
  std::optional<std::vector<int32_t>> SumOf(const privacy::masking::Clique& set,
                                            const std::map<privacy::NodeId, Digest>& shares,
                                            const std::set<privacy::NodeId>& liars) const;
  ContributionSet Expected(uint64_t round, const Items& items) const;
  std::string Compare(uint64_t round, const Items& items, const ContributionSet& expected) const;

  std::shared_ptr<const federation::LearnerPlan> plan_;
  privacy::masking::MaskLayout layout_;
  std::map<Digest, std::vector<int32_t>> given_;  // by the hash of the share's payload
  std::map<Digest, Sums> known_;                  // by the hash of the ids of the items
  std::set<Digest> found_;
  std::set<std::pair<uint64_t, privacy::NodeId>> summed_;
};

}  // namespace ruvd::test
