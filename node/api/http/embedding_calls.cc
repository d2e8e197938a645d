// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// POST /v1/embeddings.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/model/model.h"
#include "node/api/http/http_call.h"
#include "node/openai/api_error.h"
#include "node/openai/embeddings.h"
#include "node/serving/inference.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd::api {
namespace {

// Embeds the texts of one request, each in its turn, so that a long list holds up no other caller.
class EmbeddingBatch : public std::enable_shared_from_this<EmbeddingBatch> {
 public:
  EmbeddingBatch(const HttpCall& call, openai::EmbeddingsRequest request)
      : node_(call.node),
        exchange_(call.exchange),
        caller_(call.caller),
        request_(std::move(request)) {}

  void EmbedNext() {
    if (exchange_->is_gone()) {
      return;  // the rest is not wanted
    }
    const absl::Status admitted = node_.inference->Embed(
        {.text = request_.texts[vectors_.size()],
         .caller = caller_,
         .unwanted = [exchange = exchange_] { return exchange->is_gone(); }},
        [self = shared_from_this()](const absl::StatusOr<serving::EmbedAnswer>& answer) {
          self->OnEmbedded(answer);
        });
    if (!admitted.ok()) {
      Fail(admitted);
    }
  }

 private:
  void OnEmbedded(const absl::StatusOr<serving::EmbedAnswer>& answer) {
    if (!answer.ok()) {
      Fail(answer.status());
      return;
    }
    vectors_.push_back(answer->embedding);
    tokens_ += static_cast<uint64_t>(answer->tokens);
    if (vectors_.size() < request_.texts.size()) {
      EmbedNext();
    } else {
      exchange_->Respond({.body = openai::EmbeddingsAnswer(request_, node_.model->config().name,
                                                           vectors_, tokens_)});
    }
  }

  void Fail(const absl::Status& status) {
    const std::string param =
        request_.texts.size() == 1 ? "input" : "input[" + std::to_string(vectors_.size()) + "]";
    exchange_->Respond(openai::ErrorAnswer(openai::ErrorOf(
        ReasonOf(status) == reasons::kContextTooLong ? openai::WithParam(status, param) : status)));
  }

  const ServiceDependencies& node_;
  const std::shared_ptr<http::Exchange> exchange_;
  const std::string caller_;
  const openai::EmbeddingsRequest request_;
  std::vector<std::vector<float>> vectors_;
  uint64_t tokens_ = 0;
};

}  // namespace

void ServeEmbeddings(const HttpCall& call) {
  auto request = openai::ReadEmbeddingsRequest(call.body, call.node.model->config().name,
                                               call.node.patterns->dimension());
  if (!request.ok()) {
    call.Fail(request.status());
    return;
  }
  std::make_shared<EmbeddingBatch>(call, *std::move(request))->EmbedNext();
}

}  // namespace ruvd::api
