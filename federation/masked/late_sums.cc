// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/masked/late_sums.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"
#include "federation/masked/messages.h"
#include "privacy/masking/masked_sum.h"

namespace ruvd::federation {
namespace {

using privacy::masking::Clique;
using privacy::masking::CliqueMember;
using privacy::masking::MaskedSum;
using privacy::masking::MaskedSumId;
using privacy::masking::MaskLayout;

// What an item says, without the values of a share.
struct Statement {
  uint8_t attempt = 0;
  uint64_t round = 0;
  Digest layout{};
  std::optional<Clique> set;  // that the sender signed
  Digest set_hash{};          // of `set`, or of the set to which a commitment or share belongs
  Digest commitment{};        // what is committed to, or the commitment that a share opens
};

std::optional<Statement> Read(const Item& item, const privacy::ClusterId& cluster) {
  const std::span<const uint8_t> bytes = AsBytes(*item.payload);
  if (item.kind == ItemKind::kMaskKey) {
    const auto key = DecodeMaskKey(bytes);
    return key.ok() ? std::optional(Statement{.attempt = key->attempt,
                                              .round = key->offer.round,
                                              .layout = key->offer.layout})
                    : std::nullopt;
  }
  if (item.kind == ItemKind::kMaskSet) {
    auto set = DecodeMaskSet(bytes, cluster);
    if (!set.ok() || set->clique.Find(item.origin) == nullptr) {
      return std::nullopt;
    }
    const Digest hash = set->clique.SetHash();
    return Statement{.attempt = set->attempt,
                     .round = set->clique.round.round,
                     .layout = set->clique.layout,
                     .set = std::move(set->clique),
                     .set_hash = hash};
  }
  if (item.kind == ItemKind::kMaskCommitment) {
    const auto commitment = DecodeMaskCommitment(bytes);
    return commitment.ok() ? std::optional(Statement{.attempt = commitment->attempt,
                                                     .round = commitment->round,
                                                     .layout = commitment->layout,
                                                     .set_hash = commitment->set,
                                                     .commitment = commitment->share})
                           : std::nullopt;
  }
  const auto share = DecodeMaskShareHead(bytes);
  return share.ok() && share->update.sender == item.origin
             ? std::optional(Statement{.attempt = share->attempt,
                                       .round = share->update.round,
                                       .layout = share->update.layout,
                                       .set_hash = share->update.set,
                                       .commitment = CommitmentTo(*item.payload)})
             : std::nullopt;
}

// The statements of a round.
class Statements {
 public:
  Statements(const MaskedSumId& round, const MaskLayout& layout)
      : round_(round), layout_(layout), layout_hash_(layout.Hash()) {}

  void Add(const Item& item) {
    // A share of another length is not of this layout; MaskedRoundItems takes no such share either.
    if (!IsMaskItem(item.kind) || item.round != round_.round ||
        (item.kind == ItemKind::kMaskShare &&
         item.payload->size() != MaskShareBytes(layout_.Values()))) {
      return;
    }
    std::optional<Statement> said = Read(item, round_.cluster);
    if (!said || said->round != round_.round || said->layout != layout_hash_) {
      return;
    }
    const auto [known, added] =
        said_.try_emplace({said->attempt, item.kind, item.origin}, item.payload);
    if (!added && *known->second != *item.payload) {
      refused_.insert(item.origin);
    }
    if (said->set) {
      signed_by_.insert({said->attempt, said->set_hash, item.origin});
      sets_.try_emplace({said->attempt, said->set_hash}, *std::move(said->set));
    } else if (item.kind == ItemKind::kMaskCommitment) {
      committed_.try_emplace({said->attempt, said->set_hash, item.origin}, said->commitment);
    } else if (item.kind == ItemKind::kMaskShare) {
      opened_.try_emplace({said->attempt, said->set_hash, item.origin}, said->commitment);
    }
  }

  std::vector<MaskedOutcome> Sums() const {
    std::vector<MaskedOutcome> sums;
    std::set<Digest> counted;
    for (const auto& [name, set] : sets_) {
      const auto& [attempt, hash] = name;
      if (counted.contains(hash) || !IsComplete(attempt, hash, set)) {
        continue;
      }
      absl::StatusOr<std::vector<int32_t>> units = SumOf(attempt, set);
      if (units.ok()) {
        counted.insert(hash);
        sums.push_back({.attempt = attempt, .set = set, .units = *std::move(units)});
      }
    }
    return sums;
  }

  std::vector<GroupOutcome> Outcomes() const {
    std::vector<GroupOutcome> outcomes;
    for (const auto& [name, set] : sets_) {
      const auto& [attempt, hash] = name;
      // Without all commitments no member that keeps to the protocol pays, so no one is to blame.
      if (!IsAgreed(attempt, hash, set) || !IsCommitted(attempt, hash, set)) {
        continue;
      }
      GroupOutcome outcome;
      for (const CliqueMember& member : set.members) {
        outcome.members.push_back(member.id);
        if (!HasShare(attempt, hash, member.id)) {
          outcome.withheld.push_back(member.id);
        }
      }
      // A late share of a liar that reaches some members only prompts these alone, and the others
      // look as if they owed theirs. The fewer shares there are, the more likely is that.
      if (4 * outcome.withheld.size() <= set.members.size()) {
        outcome.summed = outcome.withheld.empty() && SumOf(attempt, set).ok();
        outcomes.push_back(std::move(outcome));
      }
    }
    return outcomes;
  }

 private:
  bool IsAgreed(uint8_t attempt, const Digest& hash, const Clique& set) const {
    return std::ranges::all_of(set.members, [&](const CliqueMember& member) {
      return signed_by_.contains({attempt, hash, member.id});
    });
  }

  // A commitment counts here whatever its sender contradicts later: the others paid for it.
  bool IsCommitted(uint8_t attempt, const Digest& hash, const Clique& set) const {
    return std::ranges::all_of(set.members, [&](const CliqueMember& member) {
      return committed_.contains({attempt, hash, member.id});
    });
  }

  bool HasShare(uint8_t attempt, const Digest& hash, const privacy::NodeId& member) const {
    const auto committed = committed_.find({attempt, hash, member});
    const auto opened = opened_.find({attempt, hash, member});
    return !refused_.contains(member) && committed != committed_.end() && opened != opened_.end() &&
           opened->second == committed->second;
  }

  bool IsComplete(uint8_t attempt, const Digest& hash, const Clique& set) const {
    return std::ranges::all_of(set.members, [&](const CliqueMember& member) {
      return HasShare(attempt, hash, member.id);
    });
  }

  absl::StatusOr<std::vector<int32_t>> SumOf(uint8_t attempt, const Clique& set) const {
    ASSIGN_OR_RETURN(MaskedSum sum, MaskedSum::Begin(set, layout_));
    for (const CliqueMember& member : set.members) {
      const auto& payload = said_.at({attempt, ItemKind::kMaskShare, member.id});
      ASSIGN_OR_RETURN(const MaskShareItem share, DecodeMaskShare(AsBytes(*payload)));
      RETURN_IF_ERROR(sum.Add(member.id, share.update));
    }
    return sum.Result();
  }

  MaskedSumId round_;
  const MaskLayout& layout_;
  Digest layout_hash_{};
  std::map<std::tuple<uint8_t, ItemKind, privacy::NodeId>, std::shared_ptr<const std::string>>
      said_;
  std::map<std::pair<uint8_t, Digest>, Clique> sets_;                 // that a member signed
  std::set<std::tuple<uint8_t, Digest, privacy::NodeId>> signed_by_;  // by set
  // By set: what members committed to, and the commitments that their shares open
  std::map<std::tuple<uint8_t, Digest, privacy::NodeId>, Digest> committed_;
  std::map<std::tuple<uint8_t, Digest, privacy::NodeId>, Digest> opened_;
  std::set<privacy::NodeId> refused_;
};

Statements StatementsOf(const MaskedSumId& round, const MaskLayout& layout,
                        std::span<const Item> items) {
  Statements statements(round, layout);
  for (const Item& item : items) {
    statements.Add(item);
  }
  return statements;
}

}  // namespace

std::vector<MaskedOutcome> MaskedSumsOf(const MaskedSumId& round, const MaskLayout& layout,
                                        std::span<const Item> items) {
  return StatementsOf(round, layout, items).Sums();
}

std::vector<GroupOutcome> GroupOutcomesOf(const MaskedSumId& round, const MaskLayout& layout,
                                          std::span<const Item> items) {
  return StatementsOf(round, layout, items).Outcomes();
}

}  // namespace ruvd::federation
