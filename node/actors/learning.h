// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ruvd {

// What a user says of a completion. Exactly one of the signals is set.
struct Feedback {
  std::string response_id;
  std::optional<float> rating;
  std::optional<std::string> edited_text;
  std::optional<bool> accepted;
  std::string idempotency_key;
};

struct FeedbackAnswer {
  bool learned = false;
  std::string explanation;
  std::string pattern_id;
  std::string adapter_name;
  uint32_t adapter_version = 0;
  double held_out_before = 0;
  double held_out_after = 0;
  double seconds = 0;
  // Positions that the request's session was taught at once; 0: none.
  uint32_t session_lessons = 0;
};

// The background loop: trajectories with feedback become clusters, clusters become patterns with
// adapters. Thread-safe; `done` runs on the learning thread once the change is stored.
class LearningActor {
 public:
  virtual ~LearningActor() = default;
  virtual absl::Status Submit(Feedback feedback,
                              std::function<void(absl::StatusOr<FeedbackAnswer>)> done) = 0;
};

}  // namespace ruvd
