// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/client/client.h"

#include <grpcpp/grpcpp.h>

#include <utility>
#include <vector>

#include "base/status.h"
#include "grpc/health/v1/health.grpc.pb.h"
#include "node/client/api_channel.h"
#include "node/client/request_text.h"
#include "node/client/rpc_error.h"
#include "node/transport/callback_queue.h"
#include "ruvd/adapter/v1/adapter.grpc.pb.h"
#include "ruvd/admin/v1/admin.grpc.pb.h"
#include "ruvd/inference/v1/inference.grpc.pb.h"
#include "ruvd/learning/v1/learning.grpc.pb.h"
#include "ruvd/pattern/v1/pattern.grpc.pb.h"
#include "ruvd/witness/v1/witness.grpc.pb.h"

namespace ruvd::client {
namespace {

absl::Status ToStatus(const grpc::Status& status, const std::string& server) {
  return StatusOfCall(static_cast<int>(status.error_code()), status.error_message(),
                      status.error_details(), server);
}

}  // namespace

struct NodeClient::Stubs {
  Stubs(const std::string& server, const ClientCredentials& credentials)
      : problem(credentials.problem),
        channel(MakeApiChannel(server, credentials)),
        inference(channel),
        learning(channel),
        patterns(channel),
        witness(channel),
        adapters(channel),
        admin(channel),
        health(channel) {}

  // Calls `method` of `stub` and returns the response, or the error with its reason.
  template <typename Stub, typename Request, typename Response>
  absl::StatusOr<Response> Call(const NodeClient& client, Stub& stub,
                                grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                             Response*),
                                const Request& request) {
    RETURN_IF_ERROR(problem);
    RETURN_IF_ERROR(CheckRequestTexts(request));
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + client.timeout_);
    Response response;
    RETURN_IF_ERROR(ToStatus((stub.*method)(&context, request, &response), client.server_));
    return response;
  }

  const absl::Status problem;
  std::shared_ptr<grpc::Channel> channel;
  inference::v1::InferenceService::Stub inference;
  learning::v1::LearningService::Stub learning;
  pattern::v1::PatternService::Stub patterns;
  witness::v1::WitnessService::Stub witness;
  adapter::v1::AdapterService::Stub adapters;
  admin::v1::AdminService::Stub admin;
  grpc::health::v1::Health::Stub health;
};

NodeClient::NodeClient(std::string server, const ClientCredentials& credentials)
    : server_(std::move(server)), stubs_(std::make_unique<Stubs>(server_, credentials)) {}
NodeClient::~NodeClient() = default;

absl::Status NodeClient::Generate(const inference::v1::GenerateRequest& request,
                                  const OnEvent& on_event) {
  RETURN_IF_ERROR(stubs_->problem);
  RETURN_IF_ERROR(CheckRequestTexts(request));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + timeout_);
  auto reader = stubs_->inference.Generate(&context, request);
  inference::v1::GenerateResponse event;
  while (reader->Read(&event)) {
    on_event(event);
  }
  return ToStatus(reader->Finish(), server_);
}

absl::StatusOr<inference::v1::EmbedResponse> NodeClient::Embed(
    const inference::v1::EmbedRequest& request) {
  using Stub = inference::v1::InferenceService::Stub;
  return stubs_->Call(*this, stubs_->inference, &Stub::Embed, request);
}

absl::StatusOr<inference::v1::TokenizeResponse> NodeClient::Tokenize(
    const inference::v1::TokenizeRequest& request) {
  using Stub = inference::v1::InferenceService::Stub;
  return stubs_->Call(*this, stubs_->inference, &Stub::Tokenize, request);
}

absl::StatusOr<inference::v1::ScoreResponse> NodeClient::Score(
    const inference::v1::ScoreRequest& request) {
  using Stub = inference::v1::InferenceService::Stub;
  return stubs_->Call(*this, stubs_->inference, &Stub::Score, request);
}

absl::StatusOr<learning::v1::SubmitFeedbackResponse> NodeClient::SubmitFeedback(
    const learning::v1::SubmitFeedbackRequest& request) {
  using Stub = learning::v1::LearningService::Stub;
  return stubs_->Call(*this, stubs_->learning, &Stub::SubmitFeedback, request);
}

absl::StatusOr<learning::v1::UndoResponse> NodeClient::Undo(
    const learning::v1::UndoRequest& request) {
  using Stub = learning::v1::LearningService::Stub;
  return stubs_->Call(*this, stubs_->learning, &Stub::Undo, request);
}

absl::StatusOr<learning::v1::ListChangesResponse> NodeClient::ListChanges(
    const learning::v1::ListChangesRequest& request) {
  using Stub = learning::v1::LearningService::Stub;
  return stubs_->Call(*this, stubs_->learning, &Stub::ListChanges, request);
}

absl::StatusOr<learning::v1::GetLearningStatusResponse> NodeClient::GetLearningStatus(
    const learning::v1::GetLearningStatusRequest& request) {
  using Stub = learning::v1::LearningService::Stub;
  return stubs_->Call(*this, stubs_->learning, &Stub::GetLearningStatus, request);
}

absl::StatusOr<learning::v1::PauseLearningResponse> NodeClient::PauseLearning(
    const learning::v1::PauseLearningRequest& request) {
  using Stub = learning::v1::LearningService::Stub;
  return stubs_->Call(*this, stubs_->learning, &Stub::PauseLearning, request);
}

absl::StatusOr<learning::v1::ResumeLearningResponse> NodeClient::ResumeLearning(
    const learning::v1::ResumeLearningRequest& request) {
  using Stub = learning::v1::LearningService::Stub;
  return stubs_->Call(*this, stubs_->learning, &Stub::ResumeLearning, request);
}

absl::StatusOr<learning::v1::RunBackgroundResponse> NodeClient::RunBackground(
    const learning::v1::RunBackgroundRequest& request) {
  using Stub = learning::v1::LearningService::Stub;
  return stubs_->Call(*this, stubs_->learning, &Stub::RunBackground, request);
}

absl::StatusOr<learning::v1::RunDeepResponse> NodeClient::RunDeep(
    const learning::v1::RunDeepRequest& request) {
  using Stub = learning::v1::LearningService::Stub;
  return stubs_->Call(*this, stubs_->learning, &Stub::RunDeep, request);
}

absl::StatusOr<learning::v1::ListLessonsResponse> NodeClient::ListLessons(
    const learning::v1::ListLessonsRequest& request) {
  using Stub = learning::v1::LearningService::Stub;
  return stubs_->Call(*this, stubs_->learning, &Stub::ListLessons, request);
}

absl::StatusOr<pattern::v1::UpsertPatternResponse> NodeClient::UpsertPattern(
    const pattern::v1::UpsertPatternRequest& request) {
  using Stub = pattern::v1::PatternService::Stub;
  return stubs_->Call(*this, stubs_->patterns, &Stub::UpsertPattern, request);
}

void NodeClient::StartUpsertPattern(
    const std::shared_ptr<const pattern::v1::UpsertPatternRequest>& request,
    std::function<void(absl::StatusOr<pattern::v1::UpsertPatternResponse>)> done) {
  const absl::Status status = stubs_->problem.ok() ? CheckRequestTexts(*request) : stubs_->problem;
  if (!status.ok()) {
    done(status);
    return;
  }
  transport::KeepCallbackQueue();
  struct Call {
    grpc::ClientContext context;
    std::shared_ptr<const pattern::v1::UpsertPatternRequest> request;
    pattern::v1::UpsertPatternResponse response;
  };
  const auto call = std::make_shared<Call>();
  call->request = request;
  call->context.set_deadline(std::chrono::system_clock::now() + timeout_);
  stubs_->patterns.async()->UpsertPattern(
      &call->context, call->request.get(), &call->response,
      [this, call, done = std::move(done)](const grpc::Status& answer) {
        const absl::Status outcome = ToStatus(answer, server_);
        done(outcome.ok()
                 ? absl::StatusOr<pattern::v1::UpsertPatternResponse>(std::move(call->response))
                 : outcome);
      });
}

absl::StatusOr<pattern::v1::SearchPatternsResponse> NodeClient::SearchPatterns(
    const pattern::v1::SearchPatternsRequest& request) {
  using Stub = pattern::v1::PatternService::Stub;
  return stubs_->Call(*this, stubs_->patterns, &Stub::SearchPatterns, request);
}

absl::StatusOr<pattern::v1::ListPatternsResponse> NodeClient::ListPatterns(
    const pattern::v1::ListPatternsRequest& request) {
  using Stub = pattern::v1::PatternService::Stub;
  return stubs_->Call(*this, stubs_->patterns, &Stub::ListPatterns, request);
}

absl::StatusOr<pattern::v1::GetPatternResponse> NodeClient::GetPattern(
    const pattern::v1::GetPatternRequest& request) {
  using Stub = pattern::v1::PatternService::Stub;
  return stubs_->Call(*this, stubs_->patterns, &Stub::GetPattern, request);
}

absl::StatusOr<pattern::v1::DeletePatternResponse> NodeClient::DeletePattern(
    const pattern::v1::DeletePatternRequest& request) {
  using Stub = pattern::v1::PatternService::Stub;
  return stubs_->Call(*this, stubs_->patterns, &Stub::DeletePattern, request);
}

absl::Status NodeClient::WatchPatterns(const pattern::v1::WatchPatternsRequest& request,
                                       const OnPatternEvent& on_event) {
  RETURN_IF_ERROR(stubs_->problem);
  grpc::ClientContext context;
  auto reader = stubs_->patterns.WatchPatterns(&context, request);
  pattern::v1::WatchPatternsResponse event;
  bool wanted = true;
  while (wanted && reader->Read(&event)) {
    wanted = on_event(event);
  }
  if (!wanted) {
    context.TryCancel();
  }
  const grpc::Status status = reader->Finish();
  return wanted ? ToStatus(status, server_) : absl::OkStatus();
}

absl::StatusOr<witness::v1::ListEntriesResponse> NodeClient::ListWitnessEntries(
    const witness::v1::ListEntriesRequest& request) {
  using Stub = witness::v1::WitnessService::Stub;
  return stubs_->Call(*this, stubs_->witness, &Stub::ListEntries, request);
}

absl::StatusOr<witness::v1::GetEntryResponse> NodeClient::GetWitnessEntry(
    const std::string& request_id) {
  using Stub = witness::v1::WitnessService::Stub;
  witness::v1::GetEntryRequest request;
  request.set_request_id(request_id);
  return stubs_->Call(*this, stubs_->witness, &Stub::GetEntry, request);
}

absl::StatusOr<witness::v1::GetStatsResponse> NodeClient::GetWitnessStats(
    const witness::v1::GetStatsRequest& request) {
  using Stub = witness::v1::WitnessService::Stub;
  return stubs_->Call(*this, stubs_->witness, &Stub::GetStats, request);
}

absl::StatusOr<adapter::v1::ListAdaptersResponse> NodeClient::ListAdapters(
    const adapter::v1::ListAdaptersRequest& request) {
  using Stub = adapter::v1::AdapterService::Stub;
  return stubs_->Call(*this, stubs_->adapters, &Stub::ListAdapters, request);
}

absl::StatusOr<adapter::v1::GetAdapterResponse> NodeClient::GetAdapter(
    const adapter::v1::GetAdapterRequest& request) {
  using Stub = adapter::v1::AdapterService::Stub;
  return stubs_->Call(*this, stubs_->adapters, &Stub::GetAdapter, request);
}

absl::StatusOr<adapter::v1::DiffAdaptersResponse> NodeClient::DiffAdapters(
    const adapter::v1::DiffAdaptersRequest& request) {
  using Stub = adapter::v1::AdapterService::Stub;
  return stubs_->Call(*this, stubs_->adapters, &Stub::DiffAdapters, request);
}

absl::StatusOr<adapter::v1::LoadAdapterResponse> NodeClient::LoadAdapter(
    const adapter::v1::LoadAdapterRequest& request) {
  using Stub = adapter::v1::AdapterService::Stub;
  return stubs_->Call(*this, stubs_->adapters, &Stub::LoadAdapter, request);
}

absl::StatusOr<adapter::v1::ImportAdapterResponse> NodeClient::ImportAdapter(
    const adapter::v1::ImportAdapterRequest& request) {
  using Stub = adapter::v1::AdapterService::Stub;
  return stubs_->Call(*this, stubs_->adapters, &Stub::ImportAdapter, request);
}

absl::StatusOr<adapter::v1::UnloadAdapterResponse> NodeClient::UnloadAdapter(
    const adapter::v1::UnloadAdapterRequest& request) {
  using Stub = adapter::v1::AdapterService::Stub;
  return stubs_->Call(*this, stubs_->adapters, &Stub::UnloadAdapter, request);
}

absl::StatusOr<adapter::v1::PinAdapterResponse> NodeClient::PinAdapter(
    const adapter::v1::PinAdapterRequest& request) {
  using Stub = adapter::v1::AdapterService::Stub;
  return stubs_->Call(*this, stubs_->adapters, &Stub::PinAdapter, request);
}

absl::StatusOr<adapter::v1::RollbackAdapterResponse> NodeClient::RollbackAdapter(
    const adapter::v1::RollbackAdapterRequest& request) {
  using Stub = adapter::v1::AdapterService::Stub;
  return stubs_->Call(*this, stubs_->adapters, &Stub::RollbackAdapter, request);
}

absl::StatusOr<adapter::v1::ExportAdapterResponse> NodeClient::ExportAdapter(
    const adapter::v1::ExportAdapterRequest& request) {
  using Stub = adapter::v1::AdapterService::Stub;
  return stubs_->Call(*this, stubs_->adapters, &Stub::ExportAdapter, request);
}

absl::StatusOr<admin::v1::GetStatusResponse> NodeClient::GetStatus() {
  using Stub = admin::v1::AdminService::Stub;
  return stubs_->Call(*this, stubs_->admin, &Stub::GetStatus, admin::v1::GetStatusRequest());
}

absl::StatusOr<admin::v1::ListMembersResponse> NodeClient::ListMembers() {
  using Stub = admin::v1::AdminService::Stub;
  return stubs_->Call(*this, stubs_->admin, &Stub::ListMembers, admin::v1::ListMembersRequest());
}

absl::StatusOr<admin::v1::SetConsentResponse> NodeClient::SetConsent(
    pattern::v1::SharingTier tier) {
  using Stub = admin::v1::AdminService::Stub;
  admin::v1::SetConsentRequest request;
  request.set_tier(tier);
  return stubs_->Call(*this, stubs_->admin, &Stub::SetConsent, request);
}

absl::StatusOr<admin::v1::GetConsentResponse> NodeClient::GetConsent() {
  using Stub = admin::v1::AdminService::Stub;
  return stubs_->Call(*this, stubs_->admin, &Stub::GetConsent, admin::v1::GetConsentRequest());
}

absl::StatusOr<admin::v1::PreviewReleaseResponse> NodeClient::PreviewRelease(
    const admin::v1::PreviewReleaseRequest& request) {
  using Stub = admin::v1::AdminService::Stub;
  return stubs_->Call(*this, stubs_->admin, &Stub::PreviewRelease, request);
}

absl::StatusOr<admin::v1::SetUserConsentResponse> NodeClient::SetUserConsent(
    const admin::v1::SetUserConsentRequest& request) {
  using Stub = admin::v1::AdminService::Stub;
  return stubs_->Call(*this, stubs_->admin, &Stub::SetUserConsent, request);
}

absl::StatusOr<admin::v1::ListUserConsentsResponse> NodeClient::ListUserConsents() {
  using Stub = admin::v1::AdminService::Stub;
  return stubs_->Call(*this, stubs_->admin, &Stub::ListUserConsents,
                      admin::v1::ListUserConsentsRequest());
}

absl::StatusOr<admin::v1::BackUpStoreResponse> NodeClient::BackUpStore(const std::string& name) {
  using Stub = admin::v1::AdminService::Stub;
  admin::v1::BackUpStoreRequest request;
  request.set_name(name);
  return stubs_->Call(*this, stubs_->admin, &Stub::BackUpStore, request);
}

absl::StatusOr<admin::v1::EraseUserResponse> NodeClient::EraseUser(const std::string& user_id) {
  using Stub = admin::v1::AdminService::Stub;
  admin::v1::EraseUserRequest request;
  request.set_user_id(user_id);
  return stubs_->Call(*this, stubs_->admin, &Stub::EraseUser, request);
}

absl::StatusOr<bool> NodeClient::Healthy() {
  using Stub = grpc::health::v1::Health::Stub;
  ASSIGN_OR_RETURN(const auto response, stubs_->Call(*this, stubs_->health, &Stub::Check,
                                                     grpc::health::v1::HealthCheckRequest()));
  return response.status() == grpc::health::v1::HealthCheckResponse::SERVING;
}

absl::Status ForEachPattern(NodeClient& client, pattern::v1::ListPatternsRequest request,
                            const std::function<absl::Status(pattern::v1::Pattern&)>& visit) {
  do {
    ASSIGN_OR_RETURN(auto page, client.ListPatterns(request));
    for (pattern::v1::Pattern& pattern : *page.mutable_patterns()) {
      RETURN_IF_ERROR(visit(pattern));
    }
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  return absl::OkStatus();
}

absl::StatusOr<std::vector<pattern::v1::Pattern>> AllPatterns(NodeClient& client) {
  std::vector<pattern::v1::Pattern> all;
  RETURN_IF_ERROR(ForEachPattern(client, {}, [&all](pattern::v1::Pattern& pattern) {
    all.push_back(std::move(pattern));
    return absl::OkStatus();
  }));
  return all;
}

}  // namespace ruvd::client
