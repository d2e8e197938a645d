// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace ruvd::metrics {

// The node's Prometheus metrics, all named ruvd_*. Recording is thread-safe and takes well under a
// microsecond. Without a listen address values are recorded too, so that callers need no check.
class Metrics {
 public:
  // `listen` is host:port, or empty for no HTTP endpoint. CONFIG_INVALID if it cannot be bound.
  static absl::StatusOr<std::unique_ptr<Metrics>> Create(const std::string& listen);
  virtual ~Metrics() = default;

  // Returns the address of the endpoint with its real port, or "" if there is no endpoint.
  virtual std::string address() const = 0;

  virtual void RequestEnded(std::string_view endpoint, std::string_view code, double seconds) = 0;
  virtual void StepEnded(double seconds, int committed) = 0;
  // Records the completions that shared one forward pass, and its tokens.
  virtual void BatchStepped(size_t completions, size_t tokens) = 0;
  // Records completions that released their keys and values in favour of older ones.
  virtual void GenerationsPreempted(size_t completions) = 0;
  virtual void FeedbackReceived(std::string_view signal, bool learned) = 0;
  virtual void LearningRound(double seconds) = 0;

  // A value that is read when the endpoint is scraped.
  struct Sample {
    std::string label;  // value of the metric's label
    double value = 0;
  };
  using Reader = std::function<std::vector<Sample>()>;
  // `label` is the label's name; `counter` says whether the value only grows. The reader is called
  // on the endpoint's thread until RemoveReaders.
  virtual void AddReader(std::string name, std::string help, std::string label, bool counter,
                         Reader reader) = 0;
  // Removes all readers; none runs after this returns. Call it before the objects that readers use
  // are destroyed.
  virtual void RemoveReaders() = 0;
};

}  // namespace ruvd::metrics
