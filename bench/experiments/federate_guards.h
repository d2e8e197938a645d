// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/consent/consent.h"
#include "privacy/consent/site_policy.h"
#include "privacy/consent/user_consent.h"
#include "privacy/dp/discrete_gaussian.h"
#include "privacy/identity/node_key.h"
#include "privacy/ledger/cohort_ledger.h"
#include "privacy/ledger/release_ledger.h"
#include "privacy/ledger/unit_budget.h"
#include "privacy/release/release_guards.h"

namespace ruvd::bench {

inline constexpr char kExperimentScope[] = "experiment";

// What a sequence of a node spent in all rounds, as the node's ledger counts, and how much of what
// left was predicted to be signal.
struct PrivacySpent {
  double epsilon = std::numeric_limits<double>::infinity();  // infinite: no guarantee
  double delta = 0;
  double snr = std::numeric_limits<double>::infinity();  // infinite: no noise
  double sigma = 0;
};

// A ledger of lessons that lasts as long as the experiment.
class LessonLedger final : public privacy::ReleaseLedger {
 public:
  explicit LessonLedger(const privacy::UnitBudget& budget) : cohorts_(budget) {}
  absl::StatusOr<uint64_t> Reserve(const privacy::LedgerCharge& charge) override;
  absl::Status Check(const privacy::LedgerCharge& charge) const override;
  absl::Status Spend(uint64_t reservation) override;
  absl::Status Release(uint64_t reservation) override;
  // Returns the epsilon at `delta` of everything that was charged.
  absl::StatusOr<double> Spent(double delta) const { return cohorts_.LargestEpsilon(delta); }

 private:
  privacy::CohortLedger cohorts_;
  uint64_t last_ = 0;
};

// What stands between a node's sums and its peers: its site policy, the operator's tier, the
// consent of the user who wrote its texts, and a ledger. Not movable, because guards borrow from
// it; not thread-safe.
class GuardedNode {
 public:
  // `number` gives the node's key, and with `seed` its samples and noise, so that a run can be
  // repeated.
  GuardedNode(size_t number, privacy::ConsentTier tier, const privacy::UnitBudget& budget,
              uint64_t seed);
  GuardedNode(const GuardedNode&) = delete;
  GuardedNode& operator=(const GuardedNode&) = delete;

  const privacy::NodeId& id() const { return id_; }
  privacy::ReleaseGuards Guards();
  std::span<const privacy::Contributor> contributors() const { return contributors_; }
  const privacy::dp::RandomBytes& random() const { return random_; }
  const LessonLedger& ledger() const { return ledger_; }

 private:
  privacy::NodeId id_;
  privacy::ConsentTier tier_;
  privacy::SitePolicy policy_;
  privacy::ConsentRegister consents_;
  std::vector<privacy::Contributor> contributors_;
  privacy::dp::RandomBytes random_;
  LessonLedger ledger_;
};

}  // namespace ruvd::bench
