// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/served_node.h"

#include <stdlib.h>

#include <chrono>
#include <system_error>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/admission/identity.h"
#include "node/admission/revocation_file.h"
#include "node/api/rpc_status.h"
#include "node/process/node_files.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/node_key.h"
#include "ruvd/cluster/v1/cluster.pb.h"
#include "ruvd/node/v1/node.pb.h"
#include "ruvd/privacy/v1/privacy.pb.h"

namespace ruvd::bench {
namespace {

constexpr Duration kDrain = std::chrono::seconds(60);
constexpr std::chrono::hours kLongestRound{24 * 30};

absl::StatusOr<std::filesystem::path> MakeFolder() {
  std::string pattern = std::filesystem::temp_directory_path() / "ruvd-bench-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) {
    return Error(absl::StatusCode::kUnavailable, reasons::kFileUnwritable,
                 "no folder can be made like {}; set TMPDIR to one that can be written", pattern);
  }
  return std::filesystem::path(pattern);
}

// Makes a cluster of which this node is the only member.
absl::Status Admit(config::NodeConfig* config) {
  constexpr int64_t kDayMillis = 24 * 3600 * 1000;
  RETURN_IF_ERROR(MakeDataFolder(config->node.data_dir));
  const std::filesystem::path data(config->node.data_dir);
  ASSIGN_OR_RETURN(const privacy::NodeKey key,
                   privacy::NodeKey::LoadOrCreate(data / admission::kNodeKeyFile));
  const privacy::ClusterAuthority authority = privacy::ClusterAuthority::Generate();
  const int64_t now_ms = SystemClock().WallMillis();
  ASSIGN_OR_RETURN(const privacy::AdmissionCert certificate,
                   authority.Issue({.node_key = key.public_key(),
                                    .name = "bench",
                                    .not_before_ms = now_ms - 60'000,
                                    .not_after_ms = now_ms + kDayMillis,
                                    .serial = 1}));
  RETURN_IF_ERROR(
      admission::RevocationFile(data).Refresh(/*age_ms=*/0, now_ms, authority).status());
  config->federation.authority = ToHex(authority.public_key());
  config->federation.listen = "127.0.0.1:0";
  config->federation.tls = "off";
  return WriteFileAtomically(data / admission::kNodeCertificateFile, certificate.Encode());
}

}  // namespace

absl::StatusOr<config::NodeConfig> ConfigOf(const std::string& model, int threads,
                                            const std::vector<std::string>& settings) {
  std::vector<std::pair<std::string, std::string>> flags = {
      {"model.path", model}, {"inference.threads", std::to_string(threads)}};
  for (const std::string& setting : settings) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                   "'{}' is no setting; give KEY=VALUE, e.g. learning.deep_threads=2", setting);
    }
    flags.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
  }
  return config::LoadConfig("", {}, flags, nullptr);
}

absl::StatusOr<std::unique_ptr<ServedNode>> ServedNode::Start(config::NodeConfig config,
                                                              const node::NodeTuning& tuning) {
  std::unique_ptr<ServedNode> served(new ServedNode);
  ASSIGN_OR_RETURN(served->folder_, MakeFolder());
  config.node.data_dir = served->folder_ / "data";
  config.api.listen = "127.0.0.1:0";
  config.storage.reserve_bytes = 2 << 20;
  config.log.level = "warn";
  if (config.federation.enabled) {
    RETURN_IF_ERROR(Admit(&config));
  }
  ASSIGN_OR_RETURN(served->node_, node::Node::StartTuned(config, tuning));
  served->client_ = std::make_unique<client::NodeClient>(served->node_->api_address());
  served->client_->set_timeout(kLongestRound);
  const auto channel =
      grpc::CreateChannel(served->node_->api_address(), grpc::InsecureChannelCredentials());
  served->inference_ = inference::v1::InferenceService::NewStub(channel);
  served->learning_ = learning::v1::LearningService::NewStub(channel);
  return served;
}

ServedNode::~ServedNode() {
  if (node_ != nullptr) {
    node_->Drain(kDrain).IgnoreError();
    node_.reset();
  }
  std::error_code ignored;  // what is left in a folder for temporary files does no harm
  std::filesystem::remove_all(folder_, ignored);
}

absl::StatusOr<inference::v1::Finished> ServedNode::Generate(
    const inference::v1::GenerateRequest& request, std::string* text) {
  grpc::ClientContext context;
  const auto reader = inference_->Generate(&context, request);
  inference::v1::Finished finished;
  for (inference::v1::GenerateResponse response; reader->Read(&response);) {
    if (response.has_finished()) {
      finished = std::move(*response.mutable_finished());
    } else if (text != nullptr) {
      *text += response.text_delta().text();
    }
  }
  RETURN_IF_ERROR(api::FromRpcStatus(reader->Finish()));
  return finished;
}

absl::StatusOr<inference::v1::ScoreResponse> ServedNode::Score(
    const inference::v1::ScoreRequest& request) {
  grpc::ClientContext context;
  inference::v1::ScoreResponse response;
  RETURN_IF_ERROR(api::FromRpcStatus(inference_->Score(&context, request, &response)));
  return response;
}

absl::StatusOr<learning::v1::SubmitFeedbackResponse> ServedNode::Teach(
    const learning::v1::SubmitFeedbackRequest& request) {
  grpc::ClientContext context;
  learning::v1::SubmitFeedbackResponse response;
  RETURN_IF_ERROR(api::FromRpcStatus(learning_->SubmitFeedback(&context, request, &response)));
  return response;
}

absl::StatusOr<learning::v1::BackgroundResult> ServedNode::RunBackground(bool replay) {
  learning::v1::RunBackgroundRequest request;
  request.set_replay(replay);
  return client_->RunBackground(request);
}

absl::StatusOr<learning::v1::DeepResult> ServedNode::RunDeep() {
  return client_->RunDeep(learning::v1::RunDeepRequest());
}

absl::StatusOr<learning::v1::LearningStatus> ServedNode::Status() {
  grpc::ClientContext context;
  learning::v1::GetLearningStatusResponse response;
  RETURN_IF_ERROR(api::FromRpcStatus(
      learning_->GetLearningStatus(&context, learning::v1::GetLearningStatusRequest(), &response)));
  return response.status();
}

absl::Status ServedNode::ContributeFrom(const std::string& text) {
  learning::v1::LessonFile file;
  file.set_name("texts.txt");
  file.set_bytes(text.size());
  file.set_tier(privacy::v1::SHARING_TIER_PUBLIC);
  RETURN_IF_ERROR(client_->AddLessons(file, text).status());
  privacy::v1::SetConsentRequest consent;
  consent.set_tier(privacy::v1::SHARING_TIER_PUBLIC);
  return client_->Call<privacy::v1::SetConsentResponse>(consent).status();
}

absl::StatusOr<cluster::v1::RoundsStatus> ServedNode::Rounds() {
  ASSIGN_OR_RETURN(const auto status,
                   client_->Call<node::v1::GetStatusResponse>(node::v1::GetStatusRequest()));
  return status.rounds();
}

absl::StatusOr<node::v1::MemoryStatus> ServedNode::Memory() {
  ASSIGN_OR_RETURN(const auto status,
                   client_->Call<node::v1::GetStatusResponse>(node::v1::GetStatusRequest()));
  return status.memory();
}

absl::Status ServedNode::Pause() {
  grpc::ClientContext context;
  learning::v1::PauseLearningResponse response;
  return api::FromRpcStatus(
      learning_->PauseLearning(&context, learning::v1::PauseLearningRequest(), &response));
}

absl::Status ServedNode::Resume() {
  grpc::ClientContext context;
  learning::v1::ResumeLearningResponse response;
  return api::FromRpcStatus(
      learning_->ResumeLearning(&context, learning::v1::ResumeLearningRequest(), &response));
}

}  // namespace ruvd::bench
