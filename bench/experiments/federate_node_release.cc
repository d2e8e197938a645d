// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Releases whose unit is a node: of each update by itself, and of a clique's masked sum.

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"
#include "bench/experiments/federate_release.h"
#include "privacy/dp/distributed_gaussian.h"
#include "privacy/dp/grid_release.h"
#include "privacy/dp/zcdp.h"
#include "privacy/ledger/unit_budget.h"
#include "privacy/masking/masked_sum.h"
#include "privacy/masking/masking_session.h"
#include "privacy/masking/messages.h"
#include "privacy/release/release_payload.h"
#include "privacy/release/update_release.h"

namespace ruvd::bench {
namespace {

// Returns what one release with this noise costs, in the ledger's units.
absl::StatusOr<uint64_t> CostOf(const privacy::dp::NoiseGrid& grid,
                                const privacy::masking::MaskLayout& layout, size_t clique) {
  if (clique == 0) {
    return privacy::dp::FixedPointRho(privacy::dp::GaussianRho(grid.NoiseMultiplier()));
  }
  ASSIGN_OR_RETURN(const privacy::dp::NoiseShares shares,
                   privacy::dp::SplitNoise(grid, static_cast<uint32_t>(clique), layout.colluders,
                                           layout.Values()));
  return privacy::dp::FixedPointRho(shares.rho);
}

privacy::ReleaseTerms TermsOf(const NodePlan& plan, double contributors) {
  return {.scope = kExperimentScope,
          .unit = privacy::PrivacyUnit::kNode,
          .layout = plan.layout,
          .delta = plan.delta,
          .contributors = contributors,
          .signal = plan.signal};
}

std::vector<std::span<float>> SpansOf(federation::BankedValues& values) {
  return {values.begin(), values.end()};
}

federation::BankedValues ValuesOf(std::span<const int32_t> units, int exponent, double divisor,
                                  size_t banks) {
  std::vector<float> values(units.size());
  std::ranges::transform(units, values.begin(), [&](int32_t unit) {
    return static_cast<float>(std::ldexp(static_cast<double>(unit), exponent) / divisor);
  });
  return InBanks(values, banks);
}

class NodeRelease final : public UpdateRelease {
 public:
  NodeRelease(const UpdateFormat& format, const GuardedNodes& nodes, const NodePlan& plan)
      : format_(format), nodes_(nodes), plan_(plan) {}

  absl::StatusOr<ReleasedRound> Release(uint64_t round, std::vector<LocalChange> changes) override {
    ReleasedRound released{.updates = {}, .bytes = std::vector<size_t>(nodes_.size())};
    for (LocalChange& change : changes) {
      GuardedNode& node = *nodes_[change.node];
      const std::vector<std::span<float>> banks = SpansOf(change.delta);
      ASSIGN_OR_RETURN(const privacy::PreparedRelease prepared,
                       privacy::PrepareRelease(
                           TermsOf(plan_, static_cast<double>(changes.size())), node.Guards(),
                           {.banks = banks, .contributors = node.contributors()}));
      ASSIGN_OR_RETURN(const privacy::ReleasePayload payload,
                       privacy::ReleasePayload::Parse(AsBytes(prepared.bytes)));
      RETURN_IF_ERROR(node.ledger().Release(prepared.reservation));
      released.bytes[change.node] = prepared.bytes.size();
      const LocalChange sent{
          .node = change.node,
          .delta = ValuesOf(payload.units, payload.exponent, 1, change.delta.size())};
      released.updates.push_back({.origin = node.id(), .update = UpdateOf(format_, round, sent)});
      snr_ = prepared.forecast.snr;
      sigma_ = prepared.forecast.noise_multiplier;
    }
    return released;
  }
  absl::StatusOr<PrivacySpent> Spent() const override {
    ASSIGN_OR_RETURN(const double epsilon, nodes_[0]->Spent());
    return PrivacySpent{.epsilon = epsilon, .delta = plan_.delta, .snr = snr_, .sigma = sigma_};
  }

 private:
  UpdateFormat format_;
  const GuardedNodes& nodes_;
  NodePlan plan_;
  double snr_ = 0;
  double sigma_ = 0;
};

class MaskedRelease final : public UpdateRelease {
 public:
  MaskedRelease(const UpdateFormat& format, const GuardedNodes& nodes, const NodePlan& plan)
      : format_(format), nodes_(nodes), plan_(plan) {}

  bool sums() const override { return true; }

  absl::StatusOr<ReleasedRound> Release(uint64_t round, std::vector<LocalChange> changes) override {
    ASSIGN_OR_RETURN(std::vector<privacy::masking::MaskingSession> sessions, Offer(round, changes));
    std::vector<privacy::NodeId> others;
    for (size_t i = 1; i < changes.size(); ++i) {
      others.push_back(nodes_[changes[i].node]->id());
    }
    ASSIGN_OR_RETURN(const privacy::masking::Clique clique, sessions[0].CliqueOf(others));
    ASSIGN_OR_RETURN(privacy::masking::MaskedSum sum,
                     privacy::masking::MaskedSum::Begin(clique, plan_.layout));
    ReleasedRound released{.updates = {}, .bytes = std::vector<size_t>(nodes_.size())};
    for (size_t i = 0; i < changes.size(); ++i) {
      ASSIGN_OR_RETURN(const std::string bytes, MaskedBytes(clique, &changes[i], &sessions[i]));
      released.bytes[changes[i].node] = bytes.size();
      ASSIGN_OR_RETURN(const privacy::masking::MaskedUpdate share,
                       privacy::masking::DecodeMaskedUpdate(AsBytes(bytes)));
      RETURN_IF_ERROR(sum.Add(nodes_[changes[i].node]->id(), share));
    }
    ASSIGN_OR_RETURN(const std::vector<int32_t> units, sum.Result());
    const LocalChange mean{.delta = ValuesOf(units, plan_.layout.grid.exponent,
                                             static_cast<double>(changes.size()),
                                             changes[0].delta.size())};
    // The clique sends under the id of its set.
    released.updates.push_back(
        {.origin = clique.SetHash(), .update = UpdateOf(format_, round, mean)});
    return released;
  }
  absl::StatusOr<PrivacySpent> Spent() const override {
    ASSIGN_OR_RETURN(const double epsilon, nodes_[0]->Spent());
    return PrivacySpent{.epsilon = epsilon, .delta = plan_.delta, .snr = snr_, .sigma = sigma_};
  }

 private:
  // Makes the sessions of all members, each with the offers of all others.
  absl::StatusOr<std::vector<privacy::masking::MaskingSession>> Offer(
      uint64_t round, const std::vector<LocalChange>& changes) {
    std::vector<privacy::masking::MaskingSession> sessions;
    for (const LocalChange& change : changes) {
      const GuardedNode& node = *nodes_[change.node];
      ASSIGN_OR_RETURN(
          privacy::masking::MaskingSession session,
          privacy::masking::MaskingSession::Begin({.round = round}, plan_.layout, node.id(),
                                                  last_reservation_, node.random()));
      sessions.push_back(std::move(session));
    }
    for (privacy::masking::MaskingSession& to : sessions) {
      for (size_t from = 0; from < changes.size(); ++from) {
        RETURN_IF_ERROR(to.AddOffer(nodes_[changes[from].node]->id(), sessions[from].offer()));
      }
    }
    return sessions;
  }

  absl::StatusOr<std::string> MaskedBytes(const privacy::masking::Clique& clique,
                                          LocalChange* change,
                                          privacy::masking::MaskingSession* session) {
    GuardedNode& node = *nodes_[change->node];
    const std::vector<std::span<float>> banks = SpansOf(change->delta);
    ASSIGN_OR_RETURN(privacy::PreparedMaskInput prepared,
                     privacy::PrepareMaskedInput(
                         TermsOf(plan_, static_cast<double>(clique.members.size())), node.Guards(),
                         {.banks = banks, .contributors = node.contributors()}, clique));
    snr_ = prepared.forecast.snr;
    sigma_ = prepared.forecast.noise_multiplier;
    const uint64_t reservation = prepared.input.reservation;
    ASSIGN_OR_RETURN(const privacy::masking::MaskedUpdate share,
                     session->Mask(clique, std::move(prepared.input)));
    RETURN_IF_ERROR(node.ledger().Release(reservation));
    return privacy::masking::EncodeMaskedUpdate(share);
  }

  UpdateFormat format_;
  const GuardedNodes& nodes_;
  NodePlan plan_;
  // Sessions of different rounds have different keys; each charge is used once.
  static constexpr uint64_t last_reservation_ = 0;
  double snr_ = 0;
  double sigma_ = 0;
};

}  // namespace

absl::StatusOr<NodePlan> PlanNodes(const FederateSettings& settings, const UpdateFormat& format,
                                   size_t banks, size_t clique) {
  const auto rounds = static_cast<uint64_t>(settings.budget.rounds);
  NodePlan plan{.layout = {.model_hash = format.rules.model_hash,
                           .frame_id = format.rules.frame_id,
                           .bank_values = {},
                           .grid = {},
                           .colluders = static_cast<uint8_t>(clique > 0 ? settings.colluders : 0)},
                .delta = settings.delta,
                .signal = settings.signal,
                .rounds = rounds};
  size_t values = 0;
  for (const federation::ModuleShape& module : format.rules.modules) {
    values += module.values();
  }
  plan.layout.bank_values.assign(banks, static_cast<uint32_t>(values));
  ASSIGN_OR_RETURN(
      const privacy::UnitBudget budget,
      privacy::UnitBudget::Within(privacy::PrivacyUnit::kNode, settings.epsilon, settings.delta));
  const double rho = std::ldexp(static_cast<double>(budget.rho_q32 / rounds), -32);
  double multiplier = 1 / std::sqrt(2 * rho);
  for (;;) {
    ASSIGN_OR_RETURN(plan.layout.grid,
                     privacy::dp::MakeNoiseGrid(settings.clip, multiplier, plan.layout.Values()));
    ASSIGN_OR_RETURN(const uint64_t cost, CostOf(plan.layout.grid, plan.layout, clique));
    if (cost <= budget.rho_q32 / rounds) {
      return plan;
    }
    constexpr double kRaise = 1.002;
    multiplier *= kRaise;
  }
}

std::unique_ptr<UpdateRelease> MakeNodeRelease(const UpdateFormat& format,
                                               const GuardedNodes& nodes, const NodePlan& plan) {
  return std::make_unique<NodeRelease>(format, nodes, plan);
}

std::unique_ptr<UpdateRelease> MakeMaskedRelease(const UpdateFormat& format,
                                                 const GuardedNodes& nodes, const NodePlan& plan) {
  return std::make_unique<MaskedRelease>(format, nodes, plan);
}

}  // namespace ruvd::bench
