// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/federate_guards.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <array>
#include <filesystem>
#include <utility>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/seal/seal.h"
#include "privacy/sodium.h"

namespace ruvd::bench {
namespace {

constexpr int64_t kNowMs = 1000;
constexpr uint8_t kUse = privacy::consent_purposes::kTraining | privacy::consent_purposes::kSharing;

privacy::dp::RandomBytes RandomnessOf(uint64_t seed, size_t number) {
  if (seed == 0) {
    privacy::InitSodium();
    return &privacy::SecureRandomBytes;
  }
  const auto random = std::make_shared<Random>(seed * 64 + number);
  return [random](std::span<uint8_t> out) {
    for (uint8_t& byte : out) {
      byte = static_cast<uint8_t>(random->Next() >> 56);
    }
  };
}

}  // namespace

absl::StatusOr<std::unique_ptr<TemporaryFolder>> TemporaryFolder::Create() {
  std::error_code error;
  std::string path = (std::filesystem::temp_directory_path(error) / "federate-XXXXXX").string();
  if (error || mkdtemp(path.data()) == nullptr) {
    return Error(absl::StatusCode::kInternal, reasons::kFileUnwritable,
                 "no folder for the ledgers can be made at {}; set TMPDIR", path);
  }
  return std::unique_ptr<TemporaryFolder>(new TemporaryFolder(path));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

privacy::NodeKey ExperimentKey(size_t number) {
  privacy::KeySeed seed{};
  seed[0] = static_cast<uint8_t>(number + 1);
  return privacy::NodeKey::FromSeed(seed);
}

GuardedNode::GuardedNode(privacy::NodeKey key, const Terms& terms)
    : key_(std::move(key)), terms_(terms), contributors_({{.user = "writer", .session = ""}}) {}

absl::StatusOr<std::unique_ptr<GuardedNode>> GuardedNode::Create(const std::string& folder,
                                                                 size_t number,
                                                                 const Terms& terms) {
  std::unique_ptr<GuardedNode> node(new GuardedNode(ExperimentKey(number), terms));
  const std::string policy = fmt::format(
      "version = 1\n[scope.{}]\ntiers = [\"{}\"]\npurposes = [\"training\", "
      "\"sharing\"]\n",
      kExperimentScope, TierName(terms.tier));
  ASSIGN_OR_RETURN(node->policy_, privacy::SitePolicy::Parse(policy));
  RETURN_IF_ERROR(node->consents_.Put({.subject = {.id = "writer"},
                                       .purposes = privacy::consent_purposes::kAll,
                                       .widest = terms.tier,
                                       .granted_ms = 1,
                                       .expires_ms = 2 * kNowMs}));
  node->random_ = RandomnessOf(terms.noise_seed, number);
  if (terms.tier == privacy::ConsentTier::kPublic) {
    return node;
  }
  const std::string path =
      (std::filesystem::path(folder) / fmt::format("node-{}", number)).string();
  ASSIGN_OR_RETURN(node->database_,
                   storage::Database::Open({.path = path,
                                            .seal_key = privacy::SealKey::Generate(),
                                            .soft_reserve_bytes = 0,
                                            .hard_reserve_bytes = 0}));
  ASSIGN_OR_RETURN(node->ledger_,
                   storage::PrivacyLedgerStore::Open(
                       *node->database_, {.budgets = {terms.budget}, .key = &node->key_}));
  return node;
}

privacy::ReleaseGuards GuardedNode::Guards() {
  return {.policy = policy_,
          .consents = consents_,
          .node_tier = terms_.tier,
          .ledger = *ledger_,
          .random = random_,
          .now_ms = kNowMs};
}

absl::Status GuardedNode::RequireAllowed(privacy::ShareableKind kind) {
  RETURN_IF_ERROR(policy_.Require(kExperimentScope, kUse, terms_.tier));
  RETURN_IF_ERROR(privacy::RequireConsent(terms_.tier, kind));
  return consents_.RequireAll(contributors_, kUse, terms_.tier, kNowMs);
}

absl::StatusOr<double> GuardedNode::Spent() const {
  return ledger_->LargestEpsilon(terms_.budget.unit, terms_.budget.delta);
}

}  // namespace ruvd::bench
