// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/federate_release.h"

#include <limits>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"
#include "privacy/consent/consent.h"

namespace ruvd::bench {
namespace {

// Sends updates as bytes of version 2, each after its node's guards have allowed it.
absl::StatusOr<ReleasedRound> SendPlain(const UpdateFormat& format, const GuardedNodes& nodes,
                                        privacy::ShareableKind kind, uint64_t round,
                                        const std::vector<LocalChange>& changes) {
  ReleasedRound released{.updates = {}, .bytes = std::vector<size_t>(nodes.size())};
  for (const LocalChange& change : changes) {
    GuardedNode& node = *nodes[change.node];
    RETURN_IF_ERROR(node.RequireAllowed(kind));
    const std::string bytes = federation::EncodeAdapterUpdate(UpdateOf(format, round, change));
    released.bytes[change.node] = bytes.size();
    ASSIGN_OR_RETURN(ReceivedUpdate received, Received(node.id(), bytes));
    released.updates.push_back(std::move(received));
  }
  return released;
}

class PublicRelease final : public UpdateRelease {
 public:
  PublicRelease(const UpdateFormat& format, const GuardedNodes& nodes)
      : format_(format), nodes_(nodes) {}

  absl::StatusOr<ReleasedRound> Release(uint64_t round, std::vector<LocalChange> changes) override {
    return SendPlain(format_, nodes_, privacy::ShareableKind::kAdapterDelta, round, changes);
  }
  absl::StatusOr<PrivacySpent> Spent() const override {
    constexpr double kUnbounded = std::numeric_limits<double>::infinity();
    return PrivacySpent{.epsilon = kUnbounded, .delta = 0, .snr = kUnbounded};
  }

 private:
  UpdateFormat format_;
  const GuardedNodes& nodes_;
};

class ExampleRelease final : public UpdateRelease {
 public:
  ExampleRelease(const UpdateFormat& format, const GuardedNodes& nodes, const ExamplePlan& plan)
      : format_(format), nodes_(nodes), plan_(plan) {}

  // Charges the ledgers before any noise is drawn and before any bytes leave.
  absl::Status Pay(size_t honest) {
    for (size_t node = 0; node < honest; ++node) {
      ASSIGN_OR_RETURN(const uint64_t reservation, nodes_[node]->ledger().Reserve(plan_.charge));
      RETURN_IF_ERROR(nodes_[node]->ledger().Spend(reservation));
    }
    return absl::OkStatus();
  }
  absl::StatusOr<ReleasedRound> Release(uint64_t round, std::vector<LocalChange> changes) override {
    return SendPlain(format_, nodes_, privacy::ShareableKind::kDpAdapterDelta, round, changes);
  }
  absl::StatusOr<PrivacySpent> Spent() const override {
    ASSIGN_OR_RETURN(const double epsilon, nodes_[0]->Spent());
    return PrivacySpent{.epsilon = epsilon,
                        .delta = plan_.charge.delta,
                        .snr = plan_.snr,
                        .sigma = plan_.charge.sigma};
  }

 private:
  UpdateFormat format_;
  const GuardedNodes& nodes_;
  ExamplePlan plan_;
};

}  // namespace

federation::AdapterUpdate UpdateOf(const UpdateFormat& format, uint64_t round,
                                   const LocalChange& change) {
  federation::AdapterUpdate update{.kind = format.rules.kind,
                                   .model_hash = format.rules.model_hash,
                                   .frame_id = format.rules.frame_id,
                                   .round = round,
                                   .examples = change.examples,
                                   .schedule = federation::HistogramOf(change.maskings),
                                   .boundaries = format.boundaries,
                                   .modules = format.rules.modules,
                                   .banks = {}};
  for (size_t bank = 0; bank < change.delta.size(); ++bank) {
    update.banks.push_back({.bank = static_cast<uint32_t>(bank), .values = change.delta[bank]});
  }
  return update;
}

absl::StatusOr<ReceivedUpdate> Received(const privacy::NodeId& origin, std::string_view bytes) {
  ReceivedUpdate received{.origin = origin};
  ASSIGN_OR_RETURN(received.update, federation::DecodeAdapterUpdate(AsBytes(bytes)));
  return received;
}

std::unique_ptr<UpdateRelease> MakePublicRelease(const UpdateFormat& format,
                                                 const GuardedNodes& nodes) {
  return std::make_unique<PublicRelease>(format, nodes);
}

absl::StatusOr<std::unique_ptr<UpdateRelease>> MakeExampleRelease(const UpdateFormat& format,
                                                                  const GuardedNodes& nodes,
                                                                  size_t honest,
                                                                  const ExamplePlan& plan) {
  auto release = std::make_unique<ExampleRelease>(format, nodes, plan);
  RETURN_IF_ERROR(release->Pay(honest));
  return release;
}

}  // namespace ruvd::bench
