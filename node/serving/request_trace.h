// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "base/clock.h"
#include "inference/engine/sampling_options.h"
#include "inference/memory/memory_reader.h"
#include "inference/model/model.h"
#include "node/serving/inference.h"
#include "storage/witness/witness_entry.h"

namespace ruvd::serving {

// Records what requests did. Implementations are thread-safe and never block.
class RequestRecorder {
 public:
  virtual ~RequestRecorder() = default;
  virtual void Record(storage::WitnessEntry entry) = 0;
};
// Returns a recorder that drops what it is given.
RequestRecorder& DroppingRecorder();

// What is known about a request at its admission.
struct TracedRequest {
  std::string request_id;
  std::string session_id;
  std::string user_id;
  std::string model;        // the model that serves it
  std::string embedded_by;  // id of the model package that embeds its prompt
};

// Follows one request from its admission to its end, for the recorder. Costs a request
// microseconds. Not thread-safe.
class RequestTrace {
 public:
  // The recorder and the clock must outlive the trace. Time counts from the construction.
  RequestTrace(RequestRecorder* recorder, const Clock& clock, TracedRequest request);

  // The calls below come in this order, each after the work it names.
  void RecordBegin(const inference::ModelConfig& model, const inference::SamplingOptions& options);
  // `embedding` is empty if nothing was searched by it.
  void RecordEmbedding(const std::vector<float>& embedding, size_t prompt_tokens);
  void RecordAdapters(const std::vector<AdapterUse>& uses);
  // Records the route that a router chose, and the probability (0 to 1) that it is good enough.
  // Optional.
  void RecordRoute(std::string_view route, double probability);
  // Replaces the adapters after a new choice; `uses` holds all that were ever used.
  void RecordReselection(const std::vector<AdapterUse>& uses);

  // Drops the user's data because the user was erased meanwhile; what the request cost is still
  // recorded.
  void ForgetUser();

  // Finished or Failed ends the time that is measured; later calls do nothing.
  void Finish(int completion_tokens, const inference::MemoryUse& memory);
  void Fail(const absl::Status& status);
  // Gives the entry to the recorder; later calls do nothing.
  void Record();

 private:
  // Returns the milliseconds since the last call, or since the construction.
  float TakeLapMillis();
  void End();

  RequestRecorder* recorder_;
  bool ended_ = false;
  bool recorded_ = false;
  const Clock& clock_;
  const TimePoint admitted_;
  TimePoint last_;
  bool begun_ = false;   // no longer queued
  bool chosen_ = false;  // adapters are chosen; the time from here is generation
  storage::WitnessEntry entry_;
};

}  // namespace ruvd::serving
