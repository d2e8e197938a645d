// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/extensions/session_memory.h"

#include <string>
#include <utility>

namespace ruvd::serving {
namespace {

class RememberedRequest final : public RequestExtension {
 public:
  RememberedRequest(InstantLoop& loop, InstantSession session)
      : loop_(loop), session_(std::move(session)) {}

  AdapterSource::PatternFactor BeforeChoice(const ServedRequest& /*request*/) override {
    return
        [this](const std::string& pattern_id) { return loop_.PatternFactor(session_, pattern_id); };
  }

  void BeforeFirstForward(ServedRequest& request,
                          inference::Transformer& /*transformer*/) override {
    request.SetInstantMemory(loop_.MemoryOf(session_));
  }

  void AfterEnd(const ServedRequest& request, RequestEnd* end) override {
    const inference::Generation& generation = request.generation();
    InstantTrail trail{
        .session = session_, .commits = generation.trail(), .admitted = request.admitted()};
    if (generation.finish_reason() == inference::FinishReason::kEndOfText) {
      trail.end_position = generation.completion_tokens() - 1;
    }
    for (const AdapterUse& use : end->finished.adapters) {
      if (!use.pattern_id.empty()) {
        trail.patterns.push_back(use.pattern_id);
      }
    }
    end->leave.emplace_back(
        [loop = &loop_, id = request.response_id(), trail = std::move(trail)]() mutable {
          loop->StoreTrail(id, std::move(trail));
        });
  }

 private:
  InstantLoop& loop_;
  const InstantSession session_;
};

}  // namespace

std::unique_ptr<RequestExtension> SessionMemory::Extend(const GenerationJob& job) {
  if (job.session_id.empty() || !job.session_memory.value_or(loop_.on_by_default())) {
    return nullptr;
  }
  return std::make_unique<RememberedRequest>(loop_, InstantSession{job.user_id, job.session_id});
}

}  // namespace ruvd::serving
