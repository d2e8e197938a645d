// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/federate_guards.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "base/random.h"
#include "base/status.h"

namespace ruvd::bench {
namespace {

constexpr int64_t kNowMs = 1000;
constexpr char kWriter[] = "writer";

privacy::NodeId IdOf(size_t number) {
  privacy::KeySeed seed{};
  seed[0] = static_cast<uint8_t>(number + 1);
  return privacy::NodeKey::FromSeed(seed).id();
}

privacy::SitePolicy PolicyOf(privacy::ConsentTier tier) {
  return privacy::SitePolicy::Parse(
             fmt::format("version = 1\n[scope.{}]\ntiers = [\"{}\"]\npurposes = [\"training\", "
                         "\"sharing\"]\n",
                         kExperimentScope, TierName(tier)))
      .value();
}

privacy::ConsentRegister ConsentsTo(privacy::ConsentTier tier) {
  privacy::ConsentRegister consents;
  RUVD_CHECK(consents
                 .Put({.subject = {.id = kWriter},
                       .purposes = privacy::consent_purposes::kAll,
                       .widest = tier,
                       .granted_ms = 1,
                       .expires_ms = 2 * kNowMs})
                 .ok());
  return consents;
}

privacy::dp::RandomBytes RandomnessOf(uint64_t seed, size_t number) {
  const auto random = std::make_shared<Random>(seed * 64 + number);
  return [random](std::span<uint8_t> out) {
    for (uint8_t& byte : out) {
      byte = static_cast<uint8_t>(random->Next() >> 56);
    }
  };
}

}  // namespace

absl::Status LessonLedger::Check(const privacy::LedgerCharge& charge) const {
  return cohorts_.Check(charge.round, charge.oldest_joined, charge.curve);
}

absl::StatusOr<uint64_t> LessonLedger::Reserve(const privacy::LedgerCharge& charge) {
  RETURN_IF_ERROR(Check(charge));
  RETURN_IF_ERROR(cohorts_.Add(charge.round, charge.oldest_joined, charge.curve));
  return ++last_;
}

absl::Status LessonLedger::Spend(uint64_t /*reservation*/) {
  return absl::OkStatus();
}

absl::Status LessonLedger::Release(uint64_t /*reservation*/) {
  return absl::OkStatus();
}

GuardedNode::GuardedNode(size_t number, privacy::ConsentTier tier,
                         const privacy::UnitBudget& budget, uint64_t seed)
    : id_(IdOf(number)),
      tier_(tier),
      policy_(PolicyOf(tier)),
      consents_(ConsentsTo(tier)),
      contributors_({{.user = kWriter, .session = ""}}),
      random_(RandomnessOf(seed, number)),
      ledger_(budget) {}

privacy::ReleaseGuards GuardedNode::Guards() {
  return {.policy = policy_,
          .consents = consents_,
          .node_tier = tier_,
          .ledger = ledger_,
          .random = random_,
          .now_ms = kNowMs};
}

}  // namespace ruvd::bench
