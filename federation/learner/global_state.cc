// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/learner/global_state.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/daf/robust_rules.h"
#include "federation/limits.h"
#include "federation/reasons.h"

namespace ruvd::federation {
namespace {

constexpr uint16_t kVersion = 1;
constexpr std::string_view kStateDomain("RUVDLLM-STATE-v1\0", 17);

absl::Status Damaged(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "the saved state of the global adapter {}; take it from another node", what);
}

template <typename T>
void WriteAll(std::span<const T> values, ByteWriter& writer) {
  writer.WriteBytes({reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()});
}

// Reads `count` numbers; leaves `values` as it is if the reader has too few bytes.
template <typename T>
void ReadAll(size_t count, ByteReader& reader, std::vector<T>* values) {
  if (const auto bytes = reader.ReadBytes(count * sizeof(T)); bytes && count > 0) {
    values->resize(count);
    std::memcpy(values->data(), bytes->data(), bytes->size());
  }
}

// How many numbers both moments of an optimiser have for one bank.
std::pair<size_t, size_t> MomentsOf(const LearnerPlan& plan) {
  const size_t n = plan.values_per_bank;
  return {plan.outer.kind == OuterOptions::Kind::kPlain ? 0 : n,
          plan.outer.kind == OuterOptions::Kind::kAdam ? n : 0};
}

void ReadBank(const LearnerPlan& plan, ByteReader& reader, GlobalState* state) {
  const auto [first, second] = MomentsOf(plan);
  ReadAll(plan.values_per_bank, reader, &state->values.emplace_back());
  OuterOptimizer::State& optimizer = state->optimizers.emplace_back();
  optimizer.steps = reader.Read<uint64_t>().value_or(0);
  optimizer.beta1_power = reader.Read<double>().value_or(1);
  optimizer.beta2_power = reader.Read<double>().value_or(1);
  optimizer.noise = reader.Read<double>().value_or(0);
  ReadAll(first, reader, &optimizer.first);
  ReadAll(second, reader, &optimizer.second);
}

absl::Status ReadParticipants(ByteReader& reader, GlobalState* state) {
  const auto count = reader.Read<uint32_t>();
  if (!count || *count > limits::kMaxParticipants) {
    return Damaged("is truncated or names too many participants");
  }
  for (uint32_t i = 0; i < *count; ++i) {
    const auto id = reader.ReadArray<32>();
    const auto round = reader.Read<uint64_t>();
    if (reader.failed() || (!state->last_part.empty() && *id <= state->last_part.rbegin()->first)) {
      return Damaged("is truncated or names participants twice or out of order");
    }
    state->last_part.emplace_hint(state->last_part.end(), *id, *round);
  }
  return absl::OkStatus();
}

absl::Status ReadRunningMeans(const LearnerPlan& plan, ByteReader& reader, GlobalState* state) {
  auto& nodes = state->running_means.emplace_back();
  const auto count = reader.Read<uint8_t>();
  if (!count || *count > limits::kMaxRunningMeans) {
    return Damaged("is truncated or remembers too many nodes");
  }
  for (uint8_t i = 0; i < *count; ++i) {
    const auto id = reader.ReadArray<32>();
    RunningMean mean;
    mean.round = reader.Read<uint64_t>().value_or(0);
    mean.weight = reader.Read<double>().value_or(0);
    ReadAll(plan.RunningMeanValues(), reader, &mean.weighted);
    if (reader.failed() || (!nodes.empty() && *id <= nodes.rbegin()->first)) {
      return Damaged("is truncated or remembers nodes twice or out of order");
    }
    nodes.emplace_hint(nodes.end(), *id, std::move(mean));
  }
  return absl::OkStatus();
}

absl::Status CheckRunningMeans(const GlobalState& state, const LearnerPlan& plan) {
  const bool used = RuleByName(plan.rule, plan.faulty)->uses_past();
  for (const auto& nodes : state.running_means) {
    if (nodes.size() > (used ? limits::kMaxRunningMeans : 0)) {
      return Damaged("remembers more nodes than its rule uses");
    }
    for (const auto& [node, mean] : nodes) {
      const bool possible =
          mean.round <= state.round && mean.weight > 0 && mean.weight <= 1 &&
          mean.weighted.size() == plan.RunningMeanValues() &&
          std::ranges::all_of(mean.weighted, [](float v) {
            return std::abs(v) <= static_cast<float>(limits::kMaxRunningMeanValue);
          });
      if (!possible || !state.last_part.contains(node)) {
        return Damaged("remembers a node without a part, or what no node gives");
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

Digest GlobalState::DigestOf(const LearnerPlan& plan) const {
  return Sha256({AsBytes(kStateDomain), AsBytes(EncodeState(*this, plan))});
}

GlobalState EmptyState(const LearnerPlan& plan, uint64_t before_round) {
  RUVD_CHECK(before_round >= 1);
  GlobalState state{.round = before_round - 1,
                    .values = {},
                    .optimizers = {},
                    .last_part = {},
                    .running_means = {}};
  const auto optimizer = OuterOptimizer::Create(plan.values_per_bank, plan.outer);
  RUVD_CHECK(optimizer.ok());
  state.running_means.resize(plan.banks());
  for (size_t bank = 0; bank < plan.banks(); ++bank) {
    state.values.emplace_back(plan.values_per_bank);
    state.optimizers.push_back(optimizer->state());
  }
  return state;
}

absl::Status CheckState(const GlobalState& state, const LearnerPlan& plan) {
  if (state.values.size() != plan.banks() || state.optimizers.size() != plan.banks() ||
      state.running_means.size() != plan.banks() ||
      state.last_part.size() > limits::kMaxParticipants) {
    return Damaged("has other banks than the plan, or too many participants");
  }
  for (size_t bank = 0; bank < state.values.size(); ++bank) {
    const std::vector<float>& values = state.values[bank];
    if (values.size() != plan.values_per_bank || !std::ranges::all_of(values, [](float v) {
          return std::abs(v) <= static_cast<float>(limits::kMaxContributionNorm);
        })) {
      return Damaged("has a bank of another length, or a value that no rounds give");
    }
    // More steps than rounds would overflow later.
    if (state.optimizers[bank].steps > state.round) {
      return Damaged("counts more steps than rounds");
    }
    RETURN_IF_ERROR(
        OuterOptimizer::Restore(values.size(), plan.outer, state.optimizers[bank]).status());
  }
  RETURN_IF_ERROR(CheckRunningMeans(state, plan));
  return std::ranges::all_of(state.last_part,
                             [&](const auto& part) { return part.second <= state.round; })
             ? absl::OkStatus()
             : Damaged("names a participant of a later round");
}

std::string EncodeState(const GlobalState& state, const LearnerPlan& plan) {
  ByteWriter writer;
  writer.Write(kVersion).WriteBytes(plan.Id()).Write(state.round);
  for (size_t bank = 0; bank < state.values.size(); ++bank) {
    const OuterOptimizer::State& optimizer = state.optimizers[bank];
    WriteAll<float>(state.values[bank], writer);
    writer.Write(optimizer.steps).Write(optimizer.beta1_power).Write(optimizer.beta2_power);
    writer.Write(optimizer.noise);
    WriteAll<double>(optimizer.first, writer);
    WriteAll<double>(optimizer.second, writer);
  }
  writer.Write(static_cast<uint32_t>(state.last_part.size()));
  for (const auto& [member, round] : state.last_part) {
    writer.WriteBytes(member).Write(round);
  }
  for (const auto& nodes : state.running_means) {
    writer.Write(static_cast<uint8_t>(nodes.size()));
    for (const auto& [node, mean] : nodes) {
      writer.WriteBytes(node).Write(mean.round).Write(mean.weight);
      WriteAll<float>(mean.weighted, writer);
    }
  }
  return writer.Take();
}

absl::StatusOr<GlobalState> DecodeState(std::span<const uint8_t> bytes, const LearnerPlan& plan) {
  ByteReader reader(bytes);
  const auto version = reader.Read<uint16_t>();
  const auto id = reader.ReadArray<32>();
  GlobalState state;
  state.round = reader.Read<uint64_t>().value_or(0);
  if (reader.failed() || *version != kVersion) {
    return Damaged("is truncated or has another version");
  }
  if (*id != plan.Id()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kPlanMismatch,
                 "the saved state of the global adapter belongs to another learning plan; rounds "
                 "begin anew");
  }
  for (size_t bank = 0; bank < plan.banks(); ++bank) {
    ReadBank(plan, reader, &state);
  }
  RETURN_IF_ERROR(ReadParticipants(reader, &state));
  for (size_t bank = 0; bank < plan.banks(); ++bank) {
    RETURN_IF_ERROR(ReadRunningMeans(plan, reader, &state));
  }
  if (reader.failed() || reader.remaining() != 0) {
    return Damaged("has another length than its plan gives it");
  }
  RETURN_IF_ERROR(CheckState(state, plan));
  return state;
}

}  // namespace ruvd::federation
