// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/consent/site_policy.h"
#include "privacy/consent/user_consent.h"
#include "privacy/ledger/release_ledger.h"

// What the releases of all simulated nodes have in common.
namespace ruvd::test {

inline constexpr char kSimScope[] = "lab";

// Returns a policy whose scope kSimScope allows every tier.
const privacy::SitePolicy& SimPolicy();

// All lessons of all nodes are of one user, who consented long ago and for long.
const std::vector<privacy::Contributor>& SimContributors();
const privacy::ConsentRegister& SimConsents();

// A ledger whose process may die before and after each step. Not thread-safe.
class MortalLedger final : public privacy::ReleaseLedger {
 public:
  // `dies` counts a step and returns whether the process ends at it. Both must outlive this object.
  MortalLedger(privacy::ReleaseLedger& ledger, std::function<bool()> dies)
      : ledger_(&ledger), dies_(std::move(dies)) {}

  absl::Status Check(const privacy::LedgerCharge& charge) const override {
    return ledger_->Check(charge);
  }
  absl::StatusOr<uint64_t> Reserve(const privacy::LedgerCharge& charge) override;
  absl::Status Spend(uint64_t reservation) override;
  absl::Status Release(uint64_t reservation) override { return ledger_->Release(reservation); }

 private:
  privacy::ReleaseLedger* ledger_;
  std::function<bool()> dies_;
};

}  // namespace ruvd::test
