// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/learner/verdict.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"
#include "federation/reasons.h"

namespace ruvd::federation {
namespace {

constexpr uint16_t kVersion = 1;

absl::Status Invalid(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kUpdateInvalid,
               "verdict {}; its sender must run this cluster's version and plan", what);
}

absl::Status OtherPlan() {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kPlanMismatch,
               "verdict was made under another learning plan; set the same `federation` keys, "
               "model and frame on all nodes of a cluster");
}

bool AreFinite(const std::vector<float>& gains) {
  return std::ranges::all_of(gains, [](float gain) { return std::isfinite(gain); });
}

}  // namespace

Digest VerdictDraw(const privacy::NodeId& judge, const Digest& contribution) {
  ByteWriter writer;
  writer.WriteBytes(judge).WriteBytes(contribution);
  return Sha256(writer.str());
}

absl::Status CheckVerdict(const Verdict& verdict, const LearnerPlan& plan, uint64_t now_round) {
  if (verdict.round < 1 || verdict.round > now_round) {
    return Invalid(
        fmt::format("is on round {}, but round {} is running", verdict.round, now_round));
  }
  if (verdict.gains.empty() || verdict.gains.size() > limits::kMaxContributions) {
    return Invalid(fmt::format("is on {} contributions, not 1 to {}", verdict.gains.size(),
                               limits::kMaxContributions));
  }
  for (const auto& [contribution, gains] : verdict.gains) {
    if (gains.size() != plan.banks() || !AreFinite(gains)) {
      return Invalid("has not one finite gain for each bank of the plan");
    }
  }
  return absl::OkStatus();
}

std::string EncodeVerdict(const Verdict& verdict, const LearnerPlan& plan) {
  ByteWriter writer;
  writer.Write(kVersion).WriteBytes(plan.Id()).Write(verdict.round);
  writer.Write(static_cast<uint16_t>(verdict.gains.size()));
  for (const auto& [contribution, gains] : verdict.gains) {
    writer.WriteBytes(contribution);
    for (const float gain : gains) {
      writer.Write(gain);
    }
  }
  return writer.Take();
}

absl::StatusOr<Verdict> DecodeVerdict(std::span<const uint8_t> bytes, const LearnerPlan& plan) {
  ByteReader reader(bytes);
  const auto version = reader.Read<uint16_t>();
  if (version && *version != kVersion) {
    return Invalid(fmt::format("has version {} instead of {}", *version, kVersion));
  }
  const Digest made_under = reader.ReadArray<32>().value_or(Digest{});
  Verdict verdict{.round = reader.Read<uint64_t>().value_or(0), .gains = {}};
  const size_t count = reader.Read<uint16_t>().value_or(0);
  if (reader.failed()) {
    return Invalid("is truncated in its header");
  }
  if (made_under != plan.Id()) {
    return OtherPlan();
  }
  const size_t banks = plan.banks();
  if (count > limits::kMaxContributions ||
      reader.remaining() != count * (sizeof(Digest) + banks * sizeof(float))) {
    return Invalid("has not as many gains as it says");
  }
  const Digest* last = nullptr;
  for (size_t i = 0; i < count; ++i) {
    const Digest contribution = *reader.ReadArray<32>();
    if (last != nullptr && contribution <= *last) {
      return Invalid("lists contributions twice or out of order");
    }
    std::vector<float> gains(banks);
    for (float& gain : gains) {
      gain = *reader.Read<float>();
    }
    last = &verdict.gains.emplace_hint(verdict.gains.end(), contribution, std::move(gains))->first;
  }
  RETURN_IF_ERROR(CheckVerdict(verdict, plan, std::numeric_limits<uint64_t>::max()));
  return verdict;
}

}  // namespace ruvd::federation
