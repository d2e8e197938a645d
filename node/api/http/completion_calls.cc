// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// POST /v1/chat/completions and POST /v1/completions.

#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error_details.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "inference/model/model.h"
#include "inference/tokenizer/chat_template.h"
#include "node/api/caller.h"
#include "node/api/charged_listener.h"
#include "node/api/generate_request.h"
#include "node/api/http/generate_exchange.h"
#include "node/api/http/http_call.h"
#include "node/openai/api_error.h"
#include "node/openai/completion_answer.h"
#include "node/openai/completion_request.h"
#include "node/openai/reasons.h"
#include "node/serving/adapter_catalog.h"
#include "node/serving/inference.h"

namespace ruvd::api {
namespace {

// An adapter that the name of the model asks for has to be there.
absl::Status CheckAdapters(const inference::v1::AdapterSelection& adapters,
                           const ServiceDependencies& node) {
  if (adapters.chosen().empty() || node.adapters == nullptr) {
    return absl::OkStatus();
  }
  const inference::v1::AdapterChoice& chosen = adapters.chosen(0);
  std::string known;
  for (const serving::CatalogEntry& entry : node.adapters->List()) {
    if (entry.info.name == chosen.name() &&
        (!chosen.has_version() || entry.info.version == chosen.version())) {
      return absl::OkStatus();
    }
    known += fmt::format("{}{}:{}@{}", known.empty() ? "" : ", ", node.model->config().name,
                         entry.info.name, entry.info.version);
  }
  constexpr size_t kMostShown = 1000;
  known.resize(std::min(known.size(), kMostShown));
  return WithField(
      Error(absl::StatusCode::kNotFound, reasons::kModelUnknown,
            "this node has no adapter '{}{}'; use '{}'{}{}", SanitizeForDisplay(chosen.name()),
            chosen.has_version() ? fmt::format("@{}", chosen.version()) : "",
            node.model->config().name, known.empty() ? "" : " or one of ", known),
      "model");
}

std::string NameOf(const inference::v1::AdapterSelection& adapters, const std::string& model) {
  if (adapters.chosen().empty()) {
    return model;
  }
  const inference::v1::AdapterChoice& chosen = adapters.chosen(0);
  return chosen.has_version() ? fmt::format("{}:{}@{}", model, chosen.name(), chosen.version())
                              : fmt::format("{}:{}", model, chosen.name());
}

// OpenAI's clients cannot name a format, so a model without a template gets the messages as they
// are.
void ChooseFormat(const ServiceDependencies& node, openai::CompletionRequest* request) {
  if (request->is_chat && request->generate.chat().format().empty() &&
      node.model->tokenizer().chat_template().empty()) {
    request->generate.mutable_chat()->set_format(
        std::string(inference::ChatFormatName(inference::ChatFormat::kPlain)));
  }
}

absl::Status Begin(const HttpCall& call, absl::StatusOr<openai::CompletionRequest> request) {
  RETURN_IF_ERROR(request.status());
  RETURN_IF_ERROR(CheckAdapters(request->generate.adapters(), call.node));
  ChooseFormat(call.node, &*request);
  auto read = ReadGenerate(request->generate, call.admitted->caller());
  if (!read.ok()) {
    return WithHttpField(read.status());
  }
  serving::GenerationJob job = *std::move(read);
  const ServiceDependencies& node = call.node;
  openai::AnswerStamp stamp{
      .is_chat = request->is_chat,
      .includes_usage = request->includes_usage,
      .has_logprobs = request->has_logprobs,
      .created = node.clock->WallMillis() / 1000,
      .model = NameOf(request->generate.adapters(), node.model->config().name),
      .metadata = std::move(request->metadata)};
  job.deadline = node.clock->Now() + limits::kMaxComputeTime;
  job.listener = std::make_shared<ChargedListener>(
      MakeGenerateExchange(*request, std::move(stamp), node.model->tokenizer(), *node.clock,
                           call.exchange),
      call.admitted);
  return node.inference->Generate(std::move(job));
}

}  // namespace

absl::Status WithHttpField(absl::Status status) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"chat.format", "chat_format"},
      {"chat.messages", "messages"},
      {"infill.parts", "suffix"},
      {"json_object", "response_format"},
      {"json_schema", "response_format"},
      {"sampling.block_length", "diffusion.block_length"},
      {"sampling.confidence_threshold", "diffusion.threshold"},
      {"sampling.sampler", "diffusion.sampler"},
      {"sampling.steps", "diffusion.steps"},
      {"session_id", "metadata.session_id"},
      {"user_id", "user"}};
  constexpr std::string_view kSampling = "sampling.";
  const std::string field = FieldOf(status);
  for (const auto& [own, http] : kNames) {
    if (field == own) {
      return WithField(std::move(status), http);
    }
  }
  return field.starts_with(kSampling) ? WithField(std::move(status), field.substr(kSampling.size()))
                                      : status;
}

void ServeChat(const HttpCall& call) {
  const absl::Status begun =
      Begin(call, openai::ReadChatRequest(call.body, call.node.model->config().name));
  if (!begun.ok()) {
    call.Fail(begun);
  }
}

void ServeCompletion(const HttpCall& call) {
  const absl::Status begun =
      Begin(call, openai::ReadTextRequest(call.body, call.node.model->config().name));
  if (!begun.ok()) {
    call.Fail(begun);
  }
}

}  // namespace ruvd::api
