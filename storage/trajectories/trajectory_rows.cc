// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/trajectories/trajectory_rows.h"

#include <algorithm>
#include <cmath>

#include "base/reasons.h"
#include "base/status.h"
#include "ruvd/storage/v1/storage.pb.h"
#include "storage/db/row_key.h"
#include "storage/row_text.h"

namespace ruvd::storage::trajectories {
namespace {

constexpr size_t kPrefixBytes = 2;

void WriteRoute(const TrajectoryRoute& route, v1::TrajectoryRoute* row) {
  row->set_name(route.name);
  for (const std::string& other : route.others) {
    row->add_others(other);
  }
  row->mutable_features()->Add(route.features.begin(), route.features.end());
  row->set_propensity(route.propensity);
  row->set_probability(route.probability);
  row->set_explored(route.explored);
  row->set_seconds(route.seconds);
  row->set_tokens(route.tokens);
}

TrajectoryRoute ReadRoute(const v1::TrajectoryRoute& row) {
  return {.name = row.name(),
          .others = {row.others().begin(), row.others().end()},
          .features = {row.features().begin(), row.features().end()},
          .propensity = row.propensity(),
          .probability = row.probability(),
          .explored = row.explored(),
          .seconds = row.seconds(),
          .tokens = row.tokens()};
}

}  // namespace

bool IsSound(const TrajectoryRoute& route) {
  const auto finite = [](float value) { return std::isfinite(value); };
  return !route.name.empty() && route.name.size() <= limits::kMaxRouteNameBytes &&
         route.others.size() <= limits::kMaxRouteOthers &&
         std::ranges::all_of(
             route.others,
             [](const std::string& other) { return other.size() <= limits::kMaxRouteNameBytes; }) &&
         route.features.size() <= limits::kMaxRouteFeatures &&
         std::ranges::all_of(route.features, finite) && route.propensity > 0 &&
         route.propensity <= 1 && route.probability >= 0 && route.probability <= 1 &&
         finite(route.seconds) && route.seconds >= 0;
}

std::string IdKey(std::string_view response_id) {
  return RowKey().Text(kIdPrefix).Text(response_id).Take();
}

std::string TimeKey(int64_t created_ms, std::string_view response_id) {
  return RowKey().Text(kTimePrefix).U64(static_cast<uint64_t>(created_ms)).Text(response_id).Take();
}

int64_t TimeOfTimeKey(std::string_view key) {
  return static_cast<int64_t>(ReadKeyU64(key, kPrefixBytes).value_or(0));
}

std::string_view IdOfTimeKey(std::string_view key) {
  return key.substr(std::min(key.size(), kPrefixBytes + sizeof(uint64_t)));
}

std::string EncodeTrajectory(const Trajectory& trajectory) {
  v1::Trajectory row;
  row.set_response_id(trajectory.response_id);
  row.set_session_id(trajectory.session_id);
  row.set_user_id(trajectory.user_id);
  row.set_owner(trajectory.owner);
  row.set_prompt(trajectory.prompt);
  row.mutable_prompt_tokens()->Add(trajectory.prompt_tokens.begin(),
                                   trajectory.prompt_tokens.end());
  row.set_completion(trajectory.completion);
  row.mutable_embedding()->Add(trajectory.embedding.begin(), trajectory.embedding.end());
  row.set_embedded_by(trajectory.embedded_by);
  row.set_mode(trajectory.mode);
  row.mutable_step_t()->Add(trajectory.step_t.begin(), trajectory.step_t.end());
  row.mutable_step_entropy()->Add(trajectory.step_entropy.begin(), trajectory.step_entropy.end());
  for (const std::string& adapter : trajectory.adapters) {
    row.add_adapters(adapter);
  }
  row.set_created_ms(trajectory.created_ms);
  if (trajectory.rating) {
    row.set_rating(*trajectory.rating);
  }
  if (trajectory.edited_text) {
    row.set_edited_text(*trajectory.edited_text);
  }
  if (trajectory.accepted) {
    row.set_accepted(*trajectory.accepted);
  }
  row.set_copied(trajectory.copied);
  row.set_regenerated(trajectory.regenerated);
  row.mutable_metadata()->insert(trajectory.metadata.begin(), trajectory.metadata.end());
  row.set_learned_by(trajectory.learned_by);
  if (trajectory.learned_in) {
    row.set_learned_in(trajectory.learned_in->data(), trajectory.learned_in->size());
  }
  for (const PatternId& pattern : trajectory.patterns) {
    row.add_patterns(pattern.data(), pattern.size());
  }
  if (trajectory.route) {
    WriteRoute(*trajectory.route, row.mutable_route());
  }
  return row.SerializeAsString();
}

absl::StatusOr<Trajectory> DecodeTrajectory(std::string_view bytes) {
  constexpr char kRow[] = "a trajectory row";
  ASSIGN_OR_RETURN(const auto row, ParseRow<v1::Trajectory>(bytes, kRow));
  constexpr size_t kIdBytes = sizeof(PatternId);
  const size_t learned_bytes = row.learned_in().size();
  if (row.response_id().empty() || row.created_ms() < 0 ||
      (learned_bytes != 0 && learned_bytes != kIdBytes)) {
    return CorruptRow(kRow);
  }
  Trajectory trajectory{.response_id = row.response_id(),
                        .session_id = row.session_id(),
                        .user_id = row.user_id(),
                        .owner = row.owner(),
                        .prompt = row.prompt(),
                        .prompt_tokens = {row.prompt_tokens().begin(), row.prompt_tokens().end()},
                        .completion = row.completion(),
                        .embedding = {row.embedding().begin(), row.embedding().end()},
                        .embedded_by = row.embedded_by(),
                        .mode = row.mode(),
                        .step_t = {row.step_t().begin(), row.step_t().end()},
                        .step_entropy = {row.step_entropy().begin(), row.step_entropy().end()},
                        .adapters = {row.adapters().begin(), row.adapters().end()},
                        .created_ms = row.created_ms()};
  if (row.has_rating()) {
    trajectory.rating = row.rating();
  }
  if (row.has_edited_text()) {
    trajectory.edited_text = row.edited_text();
  }
  if (row.has_accepted()) {
    trajectory.accepted = row.accepted();
  }
  trajectory.copied = row.copied();
  trajectory.regenerated = row.regenerated();
  trajectory.metadata.insert(row.metadata().begin(), row.metadata().end());
  trajectory.learned_by = row.learned_by();
  if (learned_bytes != 0) {
    std::ranges::copy(row.learned_in(), trajectory.learned_in.emplace().begin());
  }
  for (const std::string& pattern : row.patterns()) {
    if (pattern.size() != kIdBytes) {
      return CorruptRow(kRow);
    }
    std::ranges::copy(pattern, trajectory.patterns.emplace_back().begin());
  }
  if (row.has_route()) {
    trajectory.route = ReadRoute(row.route());
    if (!IsSound(*trajectory.route)) {
      return CorruptRow(kRow);
    }
  }
  return trajectory;
}

}  // namespace ruvd::storage::trajectories
