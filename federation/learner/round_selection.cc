// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/learner/round_selection.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <tuple>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"
#include "federation/reasons.h"
#include "privacy/identity/node_key.h"

namespace ruvd::federation {
namespace {

absl::Status CountedOnce(std::string_view what) {
  return Error(absl::StatusCode::kAlreadyExists, reasons::kCountedOnce,
               "a node counts once in a round: {}", what);
}

// Decides which contributions of a round count.
class Selection {
 public:
  Selection(const RoundSet& set, uint64_t round) : round_(round) {
    std::map<Digest, const RoundContribution*> by_id;  // an item may be listed twice
    for (const RoundContribution* one : set.contributions) {
      by_id.emplace(one->id, one);
    }
    for (const auto& [id, one] : by_id) {
      (one->members.empty() ? single_ : sums_).push_back(one);
    }
  }

  std::vector<std::pair<const RoundContribution*, absl::Status>> Choose() {
    ChooseSums();
    ChooseSingle();
    KeepToTheLimit();
    std::ranges::sort(chosen_, [](const auto& a, const auto& b) {
      return std::tie(a.first->origin, a.first->id) < std::tie(b.first->origin, b.first->id);
    });
    return std::move(chosen_);
  }

 private:
  void ChooseSums() {
    std::ranges::sort(sums_, [](const auto* a, const auto* b) {
      return std::tie(a->attempt, a->origin, a->id) < std::tie(b->attempt, b->origin, b->id);
    });
    for (const RoundContribution* sum : sums_) {
      const bool shares_member = std::ranges::any_of(
          sum->members, [&](const privacy::NodeId& member) { return in_sums_.contains(member); });
      chosen_.emplace_back(sum, shares_member ? CountedOnce("an earlier sum has one of its members")
                                              : absl::OkStatus());
      if (!shares_member) {
        in_sums_.insert(sum->members.begin(), sum->members.end());
      }
    }
  }

  void ChooseSingle() {
    std::ranges::sort(single_, [](const auto* a, const auto* b) {
      return std::tie(a->origin, a->id) < std::tie(b->origin, b->id);
    });
    const privacy::NodeId* last = nullptr;
    for (const RoundContribution* one : single_) {
      absl::Status refused;
      if (in_sums_.contains(one->origin)) {
        refused = Error(absl::StatusCode::kAlreadyExists, reasons::kInMaskedSum,
                        "a masked sum of round {} contains this node already", round_);
      } else if (last != nullptr && *last == one->origin) {
        refused = CountedOnce("its contribution with the lowest id was taken");
      }
      last = &one->origin;
      chosen_.emplace_back(one, std::move(refused));
    }
  }

  // Keeps those with the lowest hashes of round and origin, so that no node is left out always.
  void KeepToTheLimit() {
    std::vector<std::pair<Digest, absl::Status*>> order;
    for (auto& [one, refused] : chosen_) {
      if (refused.ok()) {
        ByteWriter writer;
        writer.Write(round_).WriteBytes(one->origin);
        order.emplace_back(Sha256(writer.str()), &refused);
      }
    }
    if (order.size() <= limits::kMaxContributions) {
      return;
    }
    std::ranges::sort(order, {}, &std::pair<Digest, absl::Status*>::first);
    for (auto& [hash, refused] : std::span(order).subspan(limits::kMaxContributions)) {
      *refused = Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                       "round {} has {} contributions; {} of them count, drawn by hash", round_,
                       order.size(), limits::kMaxContributions);
    }
  }

  uint64_t round_;
  std::vector<const RoundContribution*> sums_;
  std::vector<const RoundContribution*> single_;
  std::set<privacy::NodeId> in_sums_;
  std::vector<std::pair<const RoundContribution*, absl::Status>> chosen_;
};

}  // namespace

std::vector<std::pair<const RoundContribution*, absl::Status>> ChosenOf(const RoundSet& set,
                                                                        uint64_t round) {
  return Selection(set, round).Choose();
}

}  // namespace ruvd::federation
