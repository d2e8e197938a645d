// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/sim_release.h"

#include <string>

#include "base/status.h"
#include "tests/federation/fixture.h"

namespace ruvd::test {
namespace {

absl::Status Dead() {
  return absl::CancelledError("the process ended");
}

}  // namespace

const privacy::SitePolicy& SimPolicy() {
  static const auto* const policy = new privacy::SitePolicy([] {
    auto parsed = privacy::SitePolicy::Parse(std::string("version = 1\n[scope.") + kSimScope +
                                             "]\ntiers = [\"masked\", \"dp\", \"public\"]\n"
                                             "purposes = [\"training\", \"sharing\"]\n");
    RUVD_CHECK(parsed.ok());
    return *std::move(parsed);
  }());
  return *policy;
}

const std::vector<privacy::Contributor>& SimContributors() {
  static const auto* const contributors =
      new std::vector<privacy::Contributor>{{.user = "ann", .session = ""}};
  return *contributors;
}

const privacy::ConsentRegister& SimConsents() {
  static const auto* const consents = new privacy::ConsentRegister([] {
    privacy::ConsentRegister made;
    RUVD_CHECK(made.Put({.subject = {.id = "ann"},
                         .purposes = privacy::consent_purposes::kAll,
                         .widest = privacy::ConsentTier::kPublic,
                         .granted_ms = kWallStart - kDayMillis,
                         .expires_ms = kWallStart + 365 * kDayMillis})
                   .ok());
    return made;
  }());
  return *consents;
}

absl::StatusOr<uint64_t> MortalLedger::Reserve(const privacy::LedgerCharge& charge) {
  if (dies_()) {
    return Dead();
  }
  ASSIGN_OR_RETURN(const uint64_t reservation, ledger_->Reserve(charge));
  return dies_() ? absl::StatusOr<uint64_t>(Dead()) : reservation;
}

absl::Status MortalLedger::Spend(uint64_t reservation) {
  RETURN_IF_ERROR(ledger_->Spend(reservation));
  return dies_() ? Dead() : absl::OkStatus();
}

}  // namespace ruvd::test
