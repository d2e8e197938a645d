// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/federate_release.h"

#include <limits>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"
#include "privacy/consent/consent.h"
#include "privacy/consent/site_policy.h"
#include "privacy/consent/user_consent.h"

namespace ruvd::bench {
namespace {

constexpr char kPolicy[] =
    "version = 1\n[scope.experiment]\ntiers = [\"public\"]\n"
    "purposes = [\"training\", \"sharing\"]\n";
constexpr int64_t kNowMs = 1000;

class PublicRelease final : public UpdateRelease {
 public:
  PublicRelease(const UpdateFormat& format, SitePolicy policy, ConsentRegister consents)
      : format_(format), policy_(std::move(policy)), consents_(std::move(consents)) {}

  absl::StatusOr<ReleasedRound> Release(uint64_t round, std::vector<LocalChange> changes) override {
    constexpr uint8_t kUse = consent_purposes::kTraining | consent_purposes::kSharing;
    ReleasedRound released{.updates = {}, .bytes = std::vector<size_t>(format_.ids.size())};
    for (const LocalChange& change : changes) {
      RETURN_IF_ERROR(policy_.Require("experiment", kUse, ConsentTier::kPublic));
      RETURN_IF_ERROR(RequireConsent(ConsentTier::kPublic, ShareableKind::kAdapterDelta));
      const std::vector<Contributor> contributors = {{.user = "writer", .session = ""}};
      RETURN_IF_ERROR(consents_.RequireAll(contributors, kUse, ConsentTier::kPublic, kNowMs));
      const std::string bytes = EncodeAdapterUpdate(UpdateOf(format_, round, change));
      released.bytes[change.node] = bytes.size();
      ASSIGN_OR_RETURN(ReceivedUpdate received, Received(format_.ids[change.node], bytes));
      released.updates.push_back(std::move(received));
    }
    return released;
  }

  PrivacySpent spent() const override {
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    return {.epsilon = kInfinite, .delta = 0, .snr = kInfinite};
  }

 private:
  UpdateFormat format_;
  SitePolicy policy_;
  ConsentRegister consents_;
};

}  // namespace

std::vector<NodeId> IdsOf(size_t nodes) {
  std::vector<NodeId> ids;
  for (size_t node = 0; node < nodes; ++node) {
    KeySeed seed{};
    seed[0] = static_cast<uint8_t>(node + 1);
    ids.push_back(NodeKey::FromSeed(seed).id());
  }
  return ids;
}

AdapterUpdate UpdateOf(const UpdateFormat& format, uint64_t round, const LocalChange& change) {
  AdapterUpdate update{.kind = format.rules.kind,
                       .model_hash = format.rules.model_hash,
                       .frame_id = format.rules.frame_id,
                       .round = round,
                       .examples = change.examples,
                       .schedule = HistogramOf(change.maskings),
                       .boundaries = format.boundaries,
                       .modules = format.rules.modules,
                       .banks = {}};
  for (size_t bank = 0; bank < change.delta.size(); ++bank) {
    update.banks.push_back({.bank = static_cast<uint32_t>(bank), .values = change.delta[bank]});
  }
  return update;
}

absl::StatusOr<ReceivedUpdate> Received(const NodeId& origin, std::string_view bytes) {
  ReceivedUpdate received{.origin = origin};
  ASSIGN_OR_RETURN(received.update, DecodeAdapterUpdate(AsBytes(bytes)));
  return received;
}

absl::StatusOr<std::unique_ptr<UpdateRelease>> MakePublicRelease(const UpdateFormat& format) {
  ASSIGN_OR_RETURN(SitePolicy policy, SitePolicy::Parse(kPolicy));
  ConsentRegister consents;
  RETURN_IF_ERROR(consents.Put({.subject = {.id = "writer"},
                                .purposes = consent_purposes::kAll,
                                .widest = ConsentTier::kPublic,
                                .granted_ms = 1,
                                .expires_ms = 2 * kNowMs}));
  return std::make_unique<PublicRelease>(format, std::move(policy), std::move(consents));
}

}  // namespace ruvd::bench
