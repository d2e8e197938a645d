// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/request_trace.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"
#include "base/utf8.h"
#include "storage/limits.h"

namespace ruvd::serving {
namespace {

// Longer than any usual name; two names and all adapters fit an entry.
constexpr size_t kMaxNameBytes = 256;

float Milliseconds(Duration duration) {
  return std::max(0.0F, std::chrono::duration<float, std::milli>(duration).count());
}

// A name that is too long or not UTF-8 must not cost the whole entry.
std::string TextOf(std::string_view text, size_t limit = kMaxNameBytes) {
  return std::string(CutUtf8(ValidUtf8(text), limit));
}

class Dropping final : public RequestRecorder {
 public:
  void Record(storage::WitnessEntry /*entry*/) override {}
};

}  // namespace

RequestRecorder& DroppingRecorder() {
  static auto* const recorder = new Dropping();
  return *recorder;
}

RequestTrace::RequestTrace(RequestRecorder* recorder, const Clock& clock, TracedRequest request)
    : recorder_(recorder), clock_(clock), admitted_(clock.Now()), last_(admitted_) {
  entry_.request_id = std::move(request.request_id);
  entry_.session_id = TextOf(request.session_id);
  entry_.user_id = std::move(request.user_id);
  entry_.model_used = TextOf(request.model);
  entry_.embedded_by = std::move(request.embedded_by);
}

float RequestTrace::TakeLapMillis() {
  const TimePoint now = clock_.Now();
  return Milliseconds(now - std::exchange(last_, now));
}

void RequestTrace::RecordBegin(const inference::ModelConfig& model,
                               const inference::SamplingOptions& options) {
  entry_.latency.queue_ms = TakeLapMillis();
  begun_ = true;
  entry_.model_used = TextOf(model.name);
  // The node has one model, so the probabilities have one element.
  entry_.routing = {.model = entry_.model_used,
                    .context_size = static_cast<uint32_t>(std::max(0, model.context)),
                    .temperature = options.temperature,
                    .top_p = options.top_p,
                    .confidence = 1,
                    .model_probs = {1}};
}

void RequestTrace::RecordEmbedding(const std::vector<float>& embedding, size_t prompt_tokens) {
  entry_.latency.embedding_ms += TakeLapMillis();
  entry_.query_embedding = embedding;
  entry_.prompt_tokens = static_cast<uint32_t>(prompt_tokens);
}

void RequestTrace::RecordAdapters(const std::vector<AdapterUse>& uses) {
  entry_.latency.retrieval_ms = TakeLapMillis();
  chosen_ = true;
  RecordReselection(uses);
}

void RequestTrace::RecordRoute(std::string_view route, double probability) {
  entry_.latency.routing_ms = TakeLapMillis();
  entry_.routing.route = TextOf(route);
  entry_.routing.confidence = static_cast<float>(std::clamp(probability, 0.0, 1.0));
}

void RequestTrace::RecordReselection(const std::vector<AdapterUse>& uses) {
  entry_.adapters.clear();
  entry_.retrieved_ids.clear();
  for (const AdapterUse& use : uses) {
    entry_.adapters.push_back(fmt::format("{}@{}", TextOf(use.name), use.version));
    storage::RetrievedId id;
    const std::optional<std::string> bytes = FromHex(use.pattern_id);
    if (bytes && bytes->size() == id.size()) {
      std::memcpy(id.data(), bytes->data(), id.size());
      entry_.retrieved_ids.push_back(id);
    }
  }
}

void RequestTrace::ForgetUser() {
  entry_.session_id.clear();
  entry_.user_id.clear();
  entry_.query_embedding.clear();
  entry_.response_embedding.clear();
}

void RequestTrace::Finish(int completion_tokens, const inference::MemoryUse& memory) {
  if (!ended_) {
    entry_.memory_entries = memory.entries;
    entry_.memory_share = static_cast<float>(memory.share);
    entry_.completion_tokens = static_cast<uint32_t>(std::max(0, completion_tokens));
    End();
  }
}

void RequestTrace::Fail(const absl::Status& status) {
  if (ended_) {
    return;
  }
  entry_.error = {ReasonOf(status), TextOf(MessageOf(status), limits::kMaxWitnessMessageBytes)};
  if (!begun_) {
    entry_.latency.queue_ms = TakeLapMillis();
  }
  End();
}

void RequestTrace::End() {
  ended_ = true;
  if (chosen_) {
    entry_.latency.generation_ms = TakeLapMillis();
  }
  entry_.latency.total_ms = Milliseconds(clock_.Now() - admitted_);
  entry_.timestamp_ms = std::max<int64_t>(0, clock_.WallMillis());
}

void RequestTrace::Record() {
  if (!std::exchange(recorded_, true)) {
    recorder_->Record(std::move(entry_));
  }
}

}  // namespace ruvd::serving
