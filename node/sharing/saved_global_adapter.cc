// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/saved_global_adapter.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"
#include "node/limits.h"
#include "ruvd/storage/v1/state.pb.h"
#include "storage/state/number_bytes.h"

namespace ruvd::sharing {
namespace {

absl::Status NoGlobalAdapter() {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "the saved global adapter is damaged; a new one is begun");
}

// Adds one bank; returns false if its numbers cannot be used.
bool AddBank(const storage::v1::GlobalAdapterBank& stored, federation::GlobalAdapterState* state) {
  auto values = storage::NumbersOf<float>(stored.values());
  auto first = storage::NumbersOf<double>(stored.first_moments());
  auto second = storage::NumbersOf<double>(stored.second_moments());
  if (!values || !first || !second) {
    return false;
  }
  state->values.push_back(*std::move(values));
  federation::OuterOptimizer::State& optimizer = state->optimizers.emplace_back();
  optimizer.steps = stored.steps();
  optimizer.beta1_power = stored.beta1_power();
  optimizer.beta2_power = stored.beta2_power();
  optimizer.noise = stored.noise();
  optimizer.first = *std::move(first);
  optimizer.second = *std::move(second);
  return true;
}

// Reads the contributors; returns false if there are too many or they are not ascending.
bool ReadContributors(const storage::v1::GlobalAdapter& stored,
                      std::set<privacy::NodeId>* contributors) {
  if (static_cast<size_t>(stored.contributors_size()) > limits::kMaxRememberedContributors) {
    return false;
  }
  for (const std::string& bytes : stored.contributors()) {
    privacy::NodeId id;
    if (!storage::CopyTo(bytes, &id) || (!contributors->empty() && id <= *contributors->rbegin())) {
      return false;
    }
    contributors->insert(id);
  }
  return true;
}

}  // namespace

storage::v1::GlobalAdapter ToStored(const SavedGlobalAdapter& saved) {
  storage::v1::GlobalAdapter stored;
  stored.set_model_hash(std::string(AsText(saved.model_hash)));
  stored.set_frame_id(std::string(AsText(saved.frame_id)));
  stored.mutable_boundaries()->Add(saved.boundaries.begin(), saved.boundaries.end());
  stored.set_round(saved.state.round);
  stored.set_served_version(saved.served);
  for (const privacy::NodeId& id : saved.contributors) {
    stored.add_contributors(std::string(AsText(id)));
  }
  for (size_t i = 0; i < saved.state.values.size(); ++i) {
    const federation::OuterOptimizer::State& optimizer = saved.state.optimizers[i];
    storage::v1::GlobalAdapterBank* const bank = stored.add_banks();
    bank->set_values(storage::NumberBytes<float>(saved.state.values[i]));
    bank->set_steps(optimizer.steps);
    bank->set_beta1_power(optimizer.beta1_power);
    bank->set_beta2_power(optimizer.beta2_power);
    bank->set_noise(optimizer.noise);
    bank->set_first_moments(storage::NumberBytes<double>(optimizer.first));
    bank->set_second_moments(storage::NumberBytes<double>(optimizer.second));
  }
  return stored;
}

absl::StatusOr<SavedGlobalAdapter> FromStored(const storage::v1::GlobalAdapter& stored) {
  SavedGlobalAdapter saved{.boundaries = {stored.boundaries().begin(), stored.boundaries().end()},
                           .served = stored.served_version()};
  saved.state.round = stored.round();
  if (!storage::CopyTo(stored.model_hash(), &saved.model_hash) ||
      !storage::CopyTo(stored.frame_id(), &saved.frame_id) ||
      saved.boundaries.size() >= limits::kMaxUpdateBanks ||
      static_cast<size_t>(stored.banks_size()) != saved.boundaries.size() + 1 ||
      !std::ranges::all_of(saved.boundaries, [](float t) { return std::isfinite(t); }) ||
      !ReadContributors(stored, &saved.contributors)) {
    return NoGlobalAdapter();
  }
  for (const storage::v1::GlobalAdapterBank& bank : stored.banks()) {
    if (!AddBank(bank, &saved.state) ||
        saved.state.values.back().size() != saved.state.values.front().size()) {
      return NoGlobalAdapter();
    }
  }
  return saved;
}

absl::Status WriteGlobalAdapter(storage::StateStore& state, const SavedGlobalAdapter& saved) {
  const storage::v1::GlobalAdapter stored = ToStored(saved);
  if (stored.ByteSizeLong() > limits::kMaxGlobalAdapterBytes) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "the global adapter has {} bytes, but at most {} can be saved; lower "
                 "federation.core_rank or experimental.banks",
                 stored.ByteSizeLong(), limits::kMaxGlobalAdapterBytes);
  }
  return state.Put(storage::state::GlobalAdapter(), stored);
}

absl::StatusOr<std::optional<SavedGlobalAdapter>> ReadGlobalAdapter(
    const storage::StateStore& state) {
  ASSIGN_OR_RETURN(const auto stored, state.Get(storage::state::GlobalAdapter()));
  if (!stored) {
    return std::nullopt;
  }
  ASSIGN_OR_RETURN(SavedGlobalAdapter saved, FromStored(*stored));
  return saved;
}

}  // namespace ruvd::sharing
