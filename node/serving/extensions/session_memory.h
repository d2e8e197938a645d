// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "node/serving/extensions/instant_loop.h"
#include "node/serving/request_extension.h"

namespace ruvd::serving {

// Lets what a session was taught act on its requests: the memory changes their logits and the
// similarity of patterns, and their commits are kept for feedback. It takes part in requests that
// name a session and ask for its memory, or do not say and the loop is on by default.
class SessionMemory final : public RequestExtensionFactory {
 public:
  // `loop` is borrowed.
  explicit SessionMemory(InstantLoop& loop) : loop_(loop) {}

  std::unique_ptr<RequestExtension> Extend(const GenerationJob& job) override;

 private:
  InstantLoop& loop_;
};

}  // namespace ruvd::serving
