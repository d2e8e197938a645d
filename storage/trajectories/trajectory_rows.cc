// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/trajectories/trajectory_rows.h"

#include "base/reasons.h"
#include "base/status.h"
#include "ruvd/storage/v1/storage.pb.h"

namespace ruvd::trajectories {

std::string EncodeTrajectory(const Trajectory& trajectory) {
  storage::v1::Trajectory row;
  row.set_response_id(trajectory.response_id);
  row.set_session_id(trajectory.session_id);
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
  return row.SerializeAsString();
}

absl::StatusOr<Trajectory> DecodeTrajectory(std::string_view bytes) {
  storage::v1::Trajectory row;
  if (!row.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      row.response_id().empty() || row.created_ms() < 0) {
    return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                 "a trajectory row does not decode; restore the store from a backup");
  }
  Trajectory trajectory{.response_id = row.response_id(),
                        .session_id = row.session_id(),
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
  return trajectory;
}

}  // namespace ruvd::trajectories
