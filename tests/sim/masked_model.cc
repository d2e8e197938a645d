// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/masked_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

#include "base/status.h"
#include "federation/learner/contribution.h"
#include "federation/masked/late_sums.h"
#include "federation/masked/messages.h"
#include "tests/sim/identities.h"

namespace ruvd::test {
namespace {

using federation::ItemKind;
using privacy::masking::Clique;

// Long worlds forget what no node needs any more.
constexpr size_t kMaxKnown = 2000;

privacy::ClusterId Cluster() {
  return privacy::ClusterIdOf(IdentityOf(0).config.certificate.issuer.root);
}

}  // namespace

MaskedModel::MaskedModel(std::shared_ptr<const federation::LearnerPlan> plan)
    : plan_(std::move(plan)) {
  if (plan_->kind == federation::ContributionKind::kGradient) {
    layout_ = federation::LayoutOfSums(*plan_);
  }
}

void MaskedModel::Gave(std::string_view payload, std::vector<int32_t> units) {
  given_.emplace(Sha256(payload), std::move(units));
}

MaskedModel::Statements MaskedModel::Read(const Items& items) const {
  Statements statements;
  const Digest layout = layout_.Hash();
  std::set<std::tuple<uint8_t, Digest, privacy::NodeId, Digest>> committed;
  // A share counts if its sender committed to it, whichever item comes first.
  std::vector<std::tuple<uint8_t, Digest, privacy::NodeId, std::string>> shared;
  for (const auto& [id, item] : items) {
    const auto bytes = AsBytes(*item.payload);
    uint8_t attempt = 0;
    if (item.kind == ItemKind::kMaskKey) {
      const auto key = federation::DecodeMaskKey(bytes);
      if (!key.ok() || key->offer.layout != layout) {
        continue;
      }
      attempt = key->attempt;
    } else if (item.kind == ItemKind::kMaskSet) {
      const auto set = federation::DecodeMaskSet(bytes, Cluster());
      if (!set.ok() || set->clique.layout != layout) {
        continue;
      }
      attempt = set->attempt;
      statements.sets.emplace(Name(attempt, set->clique.SetHash()), set->clique);
    } else if (item.kind == ItemKind::kMaskCommitment) {
      const auto commitment = federation::DecodeMaskCommitment(bytes);
      if (!commitment.ok() || commitment->layout != layout) {
        continue;
      }
      attempt = commitment->attempt;
      committed.emplace(attempt, commitment->set, item.origin, commitment->share);
    } else {
      const auto share = federation::DecodeMaskShareHead(bytes);
      if (!share.ok() || share->update.layout != layout) {
        continue;
      }
      attempt = share->attempt;
      shared.push_back({attempt, share->update.set, item.origin, *item.payload});
    }
    statements.said[{attempt, item.kind, item.origin}].insert(Sha256(*item.payload));
  }
  for (const auto& [attempt, set, origin, payload] : shared) {
    const Digest opened = Sha256(std::string("RUVDLLM-COMMIT-v1\0", 18) + payload);
    if (committed.contains({attempt, set, origin, opened})) {
      statements.shares[{attempt, set}][origin] = Sha256(payload);
    }
  }
  return statements;
}

std::optional<std::vector<int32_t>> MaskedModel::SumOf(
    const Clique& set, const std::map<privacy::NodeId, Digest>& shares,
    const std::set<privacy::NodeId>& liars) const {
  std::vector<int32_t> sum(layout_.Values());
  for (const privacy::masking::CliqueMember& member : set.members) {
    const auto share = shares.find(member.id);
    if (share == shares.end() || liars.contains(member.id)) {
      return std::nullopt;
    }
    const auto given = given_.find(share->second);
    if (given == given_.end()) {
      return std::nullopt;
    }
    std::ranges::transform(sum, given->second, sum.begin(), std::plus<>());
  }
  return sum;
}

ContributionSet MaskedModel::Expected(uint64_t round, const Items& items) const {
  const Statements statements = Read(items);
  std::set<privacy::NodeId> liars;
  for (const auto& [statement, payloads] : statements.said) {
    if (payloads.size() > 1) {
      liars.insert(std::get<privacy::NodeId>(statement));
    }
  }
  ContributionSet expected;
  for (const auto& [name, set] : statements.sets) {
    const auto shares = statements.shares.find(name);
    if (shares == statements.shares.end()) {
      continue;
    }
    const auto units = SumOf(set, shares->second, liars);
    if (!units) {
      continue;
    }
    federation::RoundContribution sum{.id = name.second,
                                      .origin = name.second,
                                      .attempt = name.first,
                                      .members = {},
                                      .contribution = {}};
    for (const privacy::masking::CliqueMember& member : set.members) {
      sum.members.push_back(member.id);
    }
    auto contribution = federation::ContributionOfSum(*plan_, round, *units,
                                                      static_cast<uint32_t>(sum.members.size()));
    RUVD_CHECK(contribution.ok());
    sum.contribution = *std::move(contribution);
    expected.emplace(name.second,
                     std::make_shared<const federation::RoundContribution>(std::move(sum)));
  }
  return expected;
}

std::string MaskedModel::Compare(uint64_t round, const Items& items,
                                 const ContributionSet& expected) const {
  std::vector<federation::Item> list;
  for (const auto& [id, item] : items) {
    list.push_back(item);
  }
  const auto found =
      federation::MaskedSumsOf({.cluster = Cluster(), .round = round}, layout_, list);
  for (const federation::MaskedOutcome& sum : found) {
    const std::string name = ToHex(sum.set.SetHash()).substr(0, 16);
    const auto one = expected.find(sum.set.SetHash());
    if (one == expected.end()) {
      return fmt::format("sum {} of round {} that its members did not give", name, round);
    }
    if (one->second->contribution.units != sum.units) {
      return fmt::format("sum {} of round {} is not that of what its members gave", name, round);
    }
  }
  return found.size() == expected.size() ? ""
                                         : fmt::format("{} sums of round {} instead of {}",
                                                       found.size(), round, expected.size());
}

const MaskedModel::Sums& MaskedModel::SumsOf(uint64_t round, const Items& items) {
  ByteWriter ids;
  for (const auto& [id, item] : items) {
    ids.WriteBytes(id);
  }
  if (known_.size() > kMaxKnown) {
    known_.clear();
  }
  const auto [known, is_new] = known_.try_emplace(Sha256(ids.str()));
  if (is_new) {
    known->second.sums = Expected(round, items);
    known->second.differs = Compare(round, items, known->second.sums);
    for (const auto& [id, sum] : known->second.sums) {
      found_.insert(id);
      for (const privacy::NodeId& member : sum->members) {
        summed_.emplace(round, member);
      }
    }
  }
  return known->second;
}

}  // namespace ruvd::test
