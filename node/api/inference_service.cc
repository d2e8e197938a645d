// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/bytes.h"
#include "base/error_details.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/model/model.h"
#include "node/api/bad_request.h"
#include "node/api/caller.h"
#include "node/api/callers.h"
#include "node/api/generate_stream.h"
#include "node/api/messages.h"
#include "node/api/rpc_status.h"
#include "node/api/services.h"
#include "node/openai/limits.h"
#include "node/serving/inference.h"
#include "ruvd/inference/v1/inference.grpc.pb.h"

namespace ruvd::api {
namespace {

// Charges the tokens of a text that was read. Where a call failed or was left, they are estimated
// from its bytes, because they may have been computed.
void ChargeText(const AdmittedCall& call, int tokens, size_t bytes) {
  constexpr size_t kBytesOfToken = 4;
  call.Charge(tokens > 0 ? static_cast<uint64_t>(tokens) : bytes / kBytesOfToken + 1);
}

// The texts that were computed, and an estimate for the one that failed.
void ChargeTexts(const AdmittedCall& call, const inference::v1::EmbedRequest& request,
                 const serving::EmbedListAnswer& answer) {
  const int most = std::min<int>(request.texts_size(), static_cast<int>(answer.texts.size()) + 1);
  for (int i = 0; i < most; ++i) {
    const auto at = static_cast<size_t>(i);
    ChargeText(call, at < answer.texts.size() ? answer.texts[at].tokens : 0,
               request.texts(i).size());
  }
}

absl::Status CheckEmbed(const inference::v1::EmbedRequest& request) {
  RETURN_IF_ERROR(CheckRequestBytes(request));
  if (request.texts().empty() ||
      static_cast<size_t>(request.texts_size()) > limits::kMaxEmbeddingInputs) {
    return BadField("texts", "the request has {} texts; send 1 to {}", request.texts_size(),
                    limits::kMaxEmbeddingInputs);
  }
  return absl::OkStatus();
}

// Returns the error of the text that could not be embedded, with its place in the list.
absl::Status EmbedStatus(const serving::EmbedListAnswer& answer) {
  return ReasonOf(answer.status) == reasons::kContextTooLong
             ? WithField(answer.status, fmt::format("texts[{}]", answer.texts.size()))
             : answer.status;
}

class InferenceServiceImpl final : public inference::v1::InferenceService::CallbackService {
 public:
  explicit InferenceServiceImpl(const ServiceDependencies& dependencies) : node_(dependencies) {}

  grpc::ServerWriteReactor<inference::v1::GenerateResponse>* Generate(
      grpc::CallbackServerContext* context,
      const inference::v1::GenerateRequest* request) override {
    return StartGenerateStream(node_, context, *request);
  }

  grpc::ServerUnaryReactor* Embed(grpc::CallbackServerContext* context,
                                  const inference::v1::EmbedRequest* request,
                                  inference::v1::EmbedResponse* response) override {
    auto* reactor = context->DefaultReactor();
    auto call = AdmitCall(node_.callers, *context);
    absl::Status status = call.status();
    status.Update(CheckModel("model", request->model(), *node_.model));
    status.Update(CheckEmbed(*request));
    if (status.ok()) {
      serving::EmbedListJob job{.texts = {request->texts().begin(), request->texts().end()},
                                .caller = (*call)->caller().name,
                                .unwanted = UnwantedOf(*context, *node_.clock)};
      status = node_.inference->EmbedList(
          std::move(job), [this, reactor, request, response,
                           call = *std::move(call)](serving::EmbedListAnswer answer) mutable {
            ChargeTexts(*call, *request, answer);
            call.reset();  // before the caller hears of the end
            WriteEmbeddings(answer, response);
            reactor->Finish(ToRpcStatus(EmbedStatus(answer)));
          });
    }
    if (!status.ok()) {
      reactor->Finish(ToRpcStatus(status));
    }
    return reactor;
  }

  grpc::ServerUnaryReactor* Tokenize(grpc::CallbackServerContext* context,
                                     const inference::v1::TokenizeRequest* request,
                                     inference::v1::TokenizeResponse* response) override {
    auto* reactor = context->DefaultReactor();
    const auto call = AdmitCall(node_.callers, *context);
    absl::Status status = call.status();
    status.Update(CheckModel("model", request->model(), *node_.model));
    status.Update(CheckRequestBytes(*request));
    if (!status.ok()) {
      reactor->Finish(ToRpcStatus(status));
      return reactor;
    }
    const inference::Tokenizer& tokenizer = node_.model->tokenizer();
    for (const inference::TokenId token :
         tokenizer.Encode(request->text(), request->parse_special())) {
      response->add_tokens(token);
      response->add_pieces(std::string(tokenizer.Piece(token)));
    }
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  grpc::ServerUnaryReactor* Score(grpc::CallbackServerContext* context,
                                  const inference::v1::ScoreRequest* request,
                                  inference::v1::ScoreResponse* response) override {
    auto* reactor = context->DefaultReactor();
    const auto call = AdmitCall(node_.callers, *context);
    absl::Status allowed = call.status();
    allowed.Update(CheckModel("model", request->model(), *node_.model));
    absl::StatusOr<serving::ScoreJob> job =
        allowed.ok() ? ReadScore(*request, (*call)->caller()) : allowed;
    absl::Status status = job.status();
    if (status.ok()) {
      job->unwanted = UnwantedOf(*context, *node_.clock);
      status = node_.inference->Score(
          *std::move(job), [reactor, response, call = *call,
                            bytes = request->prompt().size() + request->completion().size()](
                               const absl::StatusOr<serving::ScoreAnswer>& answer) mutable {
            ChargeText(*call, answer.ok() ? answer->tokens : 0, bytes);
            call.reset();  // before the caller hears of the end
            if (answer.ok()) {
              response->set_nats_per_token(answer->nats_per_token);
              response->set_tokens(static_cast<uint32_t>(answer->tokens));
              for (const serving::AdapterUse& use : answer->adapters) {
                WriteAdapterUse(use, response->add_adapters_used());
              }
            }
            reactor->Finish(ToRpcStatus(answer.status()));
          });
    }
    if (!status.ok()) {
      reactor->Finish(ToRpcStatus(status));
    }
    return reactor;
  }

 private:
  void WriteEmbeddings(const serving::EmbedListAnswer& answer,
                       inference::v1::EmbedResponse* response) const {
    if (!answer.status.ok()) {
      return;
    }
    response->set_model(node_.model->config().name);
    response->set_model_package(ToHex(node_.package_id));
    for (const serving::EmbedAnswer& text : answer.texts) {
      inference::v1::TextEmbedding* const embedding = response->add_embeddings();
      embedding->mutable_values()->Assign(text.embedding.begin(), text.embedding.end());
      embedding->set_tokens(static_cast<uint32_t>(text.tokens));
    }
  }

  const ServiceDependencies node_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeInferenceService(const ServiceDependencies& dependencies) {
  return std::make_unique<InferenceServiceImpl>(dependencies);
}

}  // namespace ruvd::api
