// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "inference/engine/generation.h"
#include "inference/transformer/transformer.h"
#include "node/serving/served_request.h"

namespace ruvd::serving {

// Something that takes part in one request without the request path knowing what it is. The task of
// the request calls it at five named moments, one after the other and never concurrently. Every
// function does nothing unless it is overridden. Nothing here may fail a request: what cannot be
// done is left out, and logged where an operator should know.
class RequestExtension {
 public:
  virtual ~RequestExtension() = default;

  // Returns whether the prompt must be embedded even if the choice of adapters does not need it.
  virtual bool WantsEmbedding() const { return false; }
  // Returns whether BetweenSteps wants to be called. Without such an extension no step computes
  // signals.
  virtual bool WatchesSteps() const { return false; }

  // Before adapters are chosen. Returns a factor for the similarity of each pattern; the factors of
  // all extensions are multiplied. Null means that no pattern's similarity changes. The function is
  // called during this choice and every later one of the request.
  virtual AdapterSource::PatternFactor BeforeChoice(const ServedRequest& /*request*/) {
    return nullptr;
  }
  // Before the first forward of the completion, when the adapters are chosen. May change what
  // ServedRequest lets it change.
  virtual void BeforeFirstForward(ServedRequest& /*request*/,
                                  inference::Transformer& /*transformer*/) {}
  // After the tokens of a step are committed, if WatchesSteps() is true and the request is served
  // with adapters. Other adapters take effect in the next step.
  virtual void BetweenSteps(ServedRequest& /*request*/, const inference::StepSignals& /*signals*/) {
  }
  // After every step, without signals, which cost time. Other adapters take effect in the next
  // step.
  virtual void AfterStep(ServedRequest& /*request*/, const inference::StepResult& /*step*/) {}
  // After the last step of a completion that did not fail. May add to what is stored and told, and
  // leave something to be done once the trajectory is stored.
  virtual void AfterEnd(const ServedRequest& /*request*/, RequestEnd* /*end*/) {}
};

// Makes the extensions of requests. Thread-safe.
class RequestExtensionFactory {
 public:
  virtual ~RequestExtensionFactory() = default;
  // Returns the extension of a request at its admission, or null if it takes no part in this one.
  virtual std::unique_ptr<RequestExtension> Extend(const GenerationJob& job) = 0;
};

}  // namespace ruvd::serving
