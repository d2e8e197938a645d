// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "inference/engine/sampling_options.h"
#include "inference/model/model.h"
#include "node/serving/inference.h"
#include "storage/witness/witness_entry.h"

namespace ruvd::serving {

// Takes what requests did. Thread-safe; never blocks.
class RequestRecorder {
 public:
  virtual ~RequestRecorder() = default;
  virtual void Record(storage::WitnessEntry entry) = 0;
};

// What is known of a request before anything is done for it.
struct TracedRequest {
  std::string request_id;
  std::string session_id;
  std::string user_id;
  std::string model;        // that serves it
  std::string embedded_by;  // id of the model package that embeds its prompt
};

// Follows one request from its admission to its end and then tells the recorder, once. Costs a
// request microseconds. Not thread-safe.
class RequestTrace {
 public:
  // `recorder` may be null; it and the clock outlive the trace. Time counts from here.
  RequestTrace(RequestRecorder* recorder, const Clock& clock, TracedRequest request);

  // In this order, each after the work it names.
  void Begun(const inference::ModelConfig& model, const inference::SamplingOptions& options);
  void Embedded(const std::vector<float>& embedding, size_t prompt_tokens);
  void Chose(const std::vector<AdapterUse>& uses);
  // A router chose this way of serving it, good enough with this probability (0 to 1). May be left
  // out.
  void Routed(std::string_view route, double probability);
  // Others were chosen on the way: all that were ever used.
  void ChoseAgain(const std::vector<AdapterUse>& uses);

  // The user was erased meanwhile: what the request cost is told, nothing that was the user's.
  void ForgetUser();

  // One of them ends the trace; calls after it do nothing.
  void Finished(int completion_tokens);
  void Failed(const absl::Status& status);

 private:
  // Milliseconds since the last call, or since the construction.
  float Lap();
  void End();

  RequestRecorder* recorder_;  // null once told
  const Clock& clock_;
  const TimePoint admitted_;
  TimePoint last_;
  bool begun_ = false;   // no longer queued
  bool chosen_ = false;  // what follows is generation
  storage::WitnessEntry entry_;
};

}  // namespace ruvd::serving
