// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/ledger/cohort_ledger.h"
#include "privacy/ledger/release_ledger.h"
#include "privacy/ledger/unit_budget.h"
#include "privacy/release/release_guards.h"

namespace ruvd::privacy {

// A ledger of lessons in memory that follows the rules and records what it is asked, and when.
class RecordingLedger final : public ReleaseLedger {
 public:
  explicit RecordingLedger(std::vector<std::string>* events) : events_(events) {}
  absl::Status Check(const LedgerCharge& charge) const override {
    CohortLedger after(budget);
    after.AddForAll(spent);
    return after.CheckForAll(charge.curve);
  }
  absl::StatusOr<uint64_t> Reserve(const LedgerCharge& charge) override {
    RETURN_IF_ERROR(Check(charge));
    spent += charge.curve;
    charges.push_back(charge);
    events_->emplace_back("reserve");
    return charges.size();
  }
  absl::Status Spend(uint64_t) override {
    events_->emplace_back("spend");
    return fail_spend ? absl::InternalError("no disk") : absl::OkStatus();
  }
  absl::Status Release(uint64_t) override {
    events_->emplace_back("release");
    return absl::OkStatus();
  }

  UnitBudget budget = {.unit = PrivacyUnit::kLesson, .epsilon = 1000, .delta = 1e-6};
  dp::RdpCurve spent;
  bool fail_spend = false;
  std::vector<LedgerCharge> charges;

 private:
  std::vector<std::string>* events_;
};

// A release to which all contributors agreed.
class ReleaseWorld {
 public:
  ReleaseWorld() {
    policy = SitePolicy::Parse(
                 "version = 1\n[scope.support]\ntiers = [\"masked\", \"dp\"]\n"
                 "purposes = [\"training\", \"sharing\"]\n")
                 .value();
    RUVD_CHECK(consents
                   .Put({.subject = {.id = "ann"},
                         .purposes = consent_purposes::kAll,
                         .widest = ConsentTier::kDp,
                         .granted_ms = 1000,
                         .expires_ms = 5000})
                   .ok());
  }

  ReleaseGuards Guards() {
    return {.policy = policy,
            .consents = consents,
            .node_tier = tier,
            .ledger = ledger,
            .random =
                [this](std::span<uint8_t> out) {
                  events.emplace_back("noise");
                  for (uint8_t& byte : out) {
                    byte = static_cast<uint8_t>(random.Next() >> 56);
                  }
                },
            .now_ms = now_ms};
  }

  std::vector<std::string> events;
  SitePolicy policy;
  ConsentRegister consents;
  RecordingLedger ledger{&events};
  Random random{3};
  ConsentTier tier = ConsentTier::kDp;
  int64_t now_ms = 2000;
  std::vector<Contributor> contributors = {{.user = "ann", .session = ""}};
};

}  // namespace ruvd::privacy
