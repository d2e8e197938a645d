// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "base/bytes.h"
#include "base/status.h"
#include "inference/engine/generation.h"
#include "inference/limits.h"
#include "inference/model/config.h"
#include "inference/model/model.h"
#include "inference/sampler/sampler_kind.h"
#include "inference/tokenizer/chat_template.h"
#include "node/api/message_times.h"
#include "node/api/messages.h"
#include "node/api/pages.h"
#include "node/api/rpc_status.h"
#include "node/api/sampling_request.h"
#include "node/api/services.h"
#include "node/limits.h"
#include "node/openai/limits.h"
#include "node/sharing/federation.h"
#include "ruvd/node/v1/node.grpc.pb.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd::api {
namespace {

void CountAgreement(const std::vector<federation::Member>& members,
                    cluster::v1::RoundsStatus* rounds) {
  const auto count = [&](federation::StateAgreement agreement) {
    return static_cast<uint32_t>(
        std::ranges::count(members, agreement, &federation::Member::rounds));
  };
  rounds->set_peers_agreeing(count(federation::StateAgreement::kEqual));
  rounds->set_peers_differing(count(federation::StateAgreement::kDiffers));
}

void WriteFederation(const sharing::FederationView& view, node::v1::GetStatusResponse* message) {
  if (view.release) {
    *message->mutable_release() = *view.release;
  }
  if (view.rounds) {
    *message->mutable_rounds() = *view.rounds;
    CountAgreement(view.members, message->mutable_rounds());
  }
  if (view.certificate.not_after_ms != 0) {  // else this node does not federate
    node::v1::CertificateStatus* const certificate = message->mutable_certificate();
    *certificate->mutable_expire_time() = ToTimestamp(view.certificate.not_after_ms);
    SetTime(view.certificate.issuer.not_after_ms,
            [&] { return certificate->mutable_issuer_expire_time(); });
    certificate->set_issuer_number(view.certificate.issuer.number);
    certificate->set_key_epoch(view.certificate.key_epoch);
  }
  node::v1::ClusterStatus* const cluster = message->mutable_cluster();
  cluster->set_members_alive(
      static_cast<uint32_t>(std::ranges::count_if(view.members, &federation::Member::counts)));
  cluster->mutable_refused_envelopes()->insert(view.refused.begin(), view.refused.end());
  cluster->mutable_accepted_items()->insert(view.accepted.begin(), view.accepted.end());
}

// Returns whether a completion of this mode would be accepted, if it asks for nothing else.
bool Supports(const inference::Model& model, inference::DecodingMode mode) {
  constexpr int kAnyBlockLength = 32;
  inference::SamplingOptions options;
  options.mode = mode;
  options.max_tokens = 1;
  if (mode == inference::DecodingMode::kBlock && model.config().block_length == 0) {
    options.block_length = kAnyBlockLength;
  }
  return inference::Generation::Create(model, {0}, options, nullptr).ok();
}

void AddNames(const std::string& names, google::protobuf::RepeatedPtrField<std::string>* list) {
  for (const absl::string_view name : absl::StrSplit(names, ", ")) {
    list->Add(std::string(name));
  }
}

void WriteModel(const ServiceDependencies& node, node::v1::Model* message) {
  const inference::Model& model = *node.model;
  const inference::ModelConfig& config = model.config();
  message->set_name(config.name);
  message->set_hash(ToHex(model.hash()));
  message->set_package(ToHex(node.package_id));
  message->set_architecture(std::string(inference::ArchitectureName(config.architecture)));
  message->set_vocabulary(static_cast<uint32_t>(config.vocabulary));
  message->set_context_length(static_cast<uint32_t>(config.context));
  message->set_block_length(static_cast<uint32_t>(config.block_length));
  message->set_embedding_dimension(node.patterns->dimension());
  for (const auto mode : {inference::DecodingMode::kDiffusion, inference::DecodingMode::kBlock,
                          inference::DecodingMode::kAutoregressive}) {
    if (Supports(model, mode)) {
      message->add_modes(WireMode(mode));
    }
  }
  message->set_default_mode(WireMode(inference::DefaultDecodingMode(config, /*infill=*/false)));
  AddNames(inference::SamplerNames(), message->mutable_samplers());
  AddNames(inference::ChatFormatNames(), message->mutable_chat_formats());
  if (const auto format = inference::RecognizeChatTemplate(model.tokenizer().chat_template())) {
    message->set_chat_format(std::string(inference::ChatFormatName(*format)));
  }
  message->set_request_bytes(limits::kMaxTextRequestBytes);
  message->set_batch_texts(limits::kMaxEmbeddingInputs);
  message->set_stop_texts(limits::kMaxStopStrings);
  message->set_score_samples(limits::kMaxScoreSamplesPerRequest);
}

class NodeServiceImpl final : public node::v1::NodeService::CallbackService {
 public:
  explicit NodeServiceImpl(const ServiceDependencies& dependencies) : node_(dependencies) {}

  grpc::ServerUnaryReactor* GetStatus(grpc::CallbackServerContext* context,
                                      const node::v1::GetStatusRequest*,
                                      node::v1::GetStatusResponse* response) override {
    auto* reactor = context->DefaultReactor();
    node_.federation->View(
        [this, reactor, response](const absl::StatusOr<sharing::FederationView>& view) {
          node_.fill_status(response);
          if (view.ok()) {  // without it the rest of the status is still useful
            WriteFederation(*view, response);
          }
          reactor->Finish(grpc::Status::OK);
        });
    return reactor;
  }

  grpc::ServerUnaryReactor* ListModels(grpc::CallbackServerContext* context,
                                       const node::v1::ListModelsRequest* request,
                                       node::v1::ListModelsResponse* response) override {
    const std::vector<std::string> names = {node_.model->config().name};
    auto* reactor = context->DefaultReactor();
    reactor->Finish(ToRpcStatus(WritePage(
        names, *request, limits::kMaxPageItems, [](const std::string& name) { return name; },
        [&](const std::string&) { WriteModel(node_, response->add_models()); }, response)));
    return reactor;
  }

  grpc::ServerUnaryReactor* GetModel(grpc::CallbackServerContext* context,
                                     const node::v1::GetModelRequest* request,
                                     node::v1::GetModelResponse* response) override {
    auto* reactor = context->DefaultReactor();
    const absl::Status known = CheckModel("name", request->name(), *node_.model);
    if (known.ok()) {
      WriteModel(node_, response->mutable_model());
    }
    reactor->Finish(ToRpcStatus(known));
    return reactor;
  }

 private:
  const ServiceDependencies node_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeNodeService(const ServiceDependencies& dependencies) {
  return std::make_unique<NodeServiceImpl>(dependencies);
}

}  // namespace ruvd::api
