// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <grpcpp/grpcpp.h>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/model/model.h"
#include "node/api/caller.h"
#include "node/api/callers.h"
#include "node/api/generate_stream.h"
#include "node/api/messages.h"
#include "node/api/rpc_status.h"
#include "node/api/services.h"
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
    const auto call = AdmitCall(node_.callers, *context);
    absl::Status status = call.ok() ? CheckRequestBytes(*request) : call.status();
    if (status.ok()) {
      status =
          node_.inference->Embed(EmbedJobOf(request->text(), **call, *context, *node_.clock),
                                 [reactor, response, call = *call, bytes = request->text().size()](
                                     const absl::StatusOr<serving::EmbedAnswer>& answer) mutable {
                                   ChargeText(*call, answer.ok() ? answer->tokens : 0, bytes);
                                   call.reset();  // before the caller hears of the end
                                   if (answer.ok()) {
                                     response->mutable_embedding()->Assign(
                                         answer->embedding.begin(), answer->embedding.end());
                                     response->set_tokens(static_cast<uint32_t>(answer->tokens));
                                   }
                                   reactor->Finish(ToRpcStatus(answer.status()));
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
    const absl::Status status = call.ok() ? CheckRequestBytes(*request) : call.status();
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
    absl::StatusOr<serving::ScoreJob> job =
        call.ok() ? ReadScore(*request, (*call)->caller()) : call.status();
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
  const ServiceDependencies node_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeInferenceService(const ServiceDependencies& dependencies) {
  return std::make_unique<InferenceServiceImpl>(dependencies);
}

}  // namespace ruvd::api
