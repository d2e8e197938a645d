// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// POST /v1/embeddings.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/error_details.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/model/model.h"
#include "node/api/caller.h"
#include "node/api/http/http_call.h"
#include "node/openai/api_error.h"
#include "node/openai/embeddings.h"
#include "node/serving/inference.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd::api {
namespace {

// What the answer needs of the request.
struct Batch {
  const ServiceDependencies& node;
  openai::EmbeddingsRequest request;
  std::shared_ptr<http::Exchange> exchange;
  std::shared_ptr<const AdmittedCall> admitted;
};

// `failed` is the number of the text that could not be embedded.
void Fail(const Batch& batch, size_t failed, const absl::Status& status) {
  const std::string param =
      batch.request.texts.size() == 1 ? "input" : "input[" + std::to_string(failed) + "]";
  batch.exchange->Respond(openai::ErrorAnswer(openai::ErrorOf(
      ReasonOf(status) == reasons::kContextTooLong ? WithField(status, param) : status)));
}

void Answer(Batch& batch, serving::EmbedListAnswer answer) {
  uint64_t tokens = 0;
  for (const serving::EmbedAnswer& text : answer.texts) {
    tokens += static_cast<uint64_t>(text.tokens);
  }
  batch.admitted->Charge(tokens);  // also of a list whose later text failed
  batch.admitted.reset();          // before the caller hears of the end
  if (!answer.status.ok()) {
    Fail(batch, answer.texts.size(), answer.status);
    return;
  }
  std::vector<std::vector<float>> vectors;
  vectors.reserve(answer.texts.size());
  for (serving::EmbedAnswer& text : answer.texts) {
    vectors.push_back(std::move(text.embedding));
  }
  batch.exchange->Respond({.body = openai::EmbeddingsAnswer(
                               batch.request, batch.node.model->config().name, vectors, tokens)});
}

}  // namespace

void ServeEmbeddings(const HttpCall& call) {
  auto request = openai::ReadEmbeddingsRequest(call.body, call.node.model->config().name,
                                               call.node.patterns->dimension());
  if (!request.ok()) {
    call.Fail(request.status());
    return;
  }
  const Clock& clock = *call.node.clock;
  serving::EmbedListJob job{
      .texts = request->texts,
      .caller = call.admitted->caller().name,
      .unwanted = [exchange = call.exchange, &clock, end = clock.Now() + limits::kMaxComputeTime] {
        return exchange->is_gone() || clock.Now() >= end;
      }};
  auto batch = std::make_shared<Batch>(Batch{.node = call.node,
                                             .request = *std::move(request),
                                             .exchange = call.exchange,
                                             .admitted = call.admitted});
  // The JSON of many vectors is written where requests are read, so that the model does not wait.
  const absl::Status admitted = call.node.inference->EmbedList(
      std::move(job), [batch, &requests = call.requests](serving::EmbedListAnswer answer) {
        requests.Post(
            [batch, answer = std::move(answer)]() mutable { Answer(*batch, std::move(answer)); });
      });
  if (!admitted.ok()) {
    Fail(*batch, 0, admitted);
  }
}

}  // namespace ruvd::api
