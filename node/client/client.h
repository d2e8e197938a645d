// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "node/client/client_credentials.h"
#include "ruvd/adapter/v1/adapter.pb.h"
#include "ruvd/admin/v1/admin.pb.h"
#include "ruvd/inference/v1/inference.pb.h"
#include "ruvd/learning/v1/learning.pb.h"
#include "ruvd/pattern/v1/pattern.pb.h"
#include "ruvd/witness/v1/witness.pb.h"

namespace ruvd::client {

// A client of a node: all unary calls of the public services, which block and have a deadline, and
// the streams of generation and of pattern changes. Errors carry the reason that the node sent
// (google.rpc.ErrorInfo). If no node listens, the error is NODE_UNREACHABLE; a text that is not
// UTF-8 is INVALID_ARGUMENT and is not sent. Thread-safe.
class NodeClient {
 public:
  // `server` is HOST:PORT. The client connects on the first call. Proxies of the environment are
  // not used, because the node is in the local network. If the credentials have a problem, every
  // call returns it.
  explicit NodeClient(std::string server, const ClientCredentials& credentials = {});
  ~NodeClient();
  NodeClient(const NodeClient&) = delete;
  NodeClient& operator=(const NodeClient&) = delete;

  const std::string& server() const { return server_; }
  // Sets the deadline of every later call.
  void set_timeout(std::chrono::milliseconds timeout) { timeout_ = timeout; }

  using OnEvent = std::function<void(const inference::v1::GenerateResponse&)>;
  absl::Status Generate(const inference::v1::GenerateRequest& request, const OnEvent& on_event);
  absl::StatusOr<inference::v1::EmbedResponse> Embed(const inference::v1::EmbedRequest& request);
  absl::StatusOr<inference::v1::TokenizeResponse> Tokenize(
      const inference::v1::TokenizeRequest& request);
  absl::StatusOr<inference::v1::ScoreResponse> Score(const inference::v1::ScoreRequest& request);
  absl::StatusOr<learning::v1::SubmitFeedbackResponse> SubmitFeedback(
      const learning::v1::SubmitFeedbackRequest& request);
  absl::StatusOr<learning::v1::UndoResponse> Undo(const learning::v1::UndoRequest& request);
  absl::StatusOr<learning::v1::ListChangesResponse> ListChanges(
      const learning::v1::ListChangesRequest& request);
  absl::StatusOr<learning::v1::GetLearningStatusResponse> GetLearningStatus(
      const learning::v1::GetLearningStatusRequest& request);
  absl::StatusOr<learning::v1::PauseLearningResponse> PauseLearning(
      const learning::v1::PauseLearningRequest& request);
  absl::StatusOr<learning::v1::ResumeLearningResponse> ResumeLearning(
      const learning::v1::ResumeLearningRequest& request);
  absl::StatusOr<learning::v1::RunBackgroundResponse> RunBackground(
      const learning::v1::RunBackgroundRequest& request);
  absl::StatusOr<learning::v1::RunDeepResponse> RunDeep(
      const learning::v1::RunDeepRequest& request);
  absl::StatusOr<learning::v1::ListLessonsResponse> ListLessons(
      const learning::v1::ListLessonsRequest& request);
  absl::StatusOr<pattern::v1::UpsertPatternResponse> UpsertPattern(
      const pattern::v1::UpsertPatternRequest& request);
  // Starts the call and does not wait: `done` is called once, on a gRPC thread or before this
  // returns. The client must outlive the call; `request` must not be null.
  void StartUpsertPattern(
      const std::shared_ptr<const pattern::v1::UpsertPatternRequest>& request,
      std::function<void(absl::StatusOr<pattern::v1::UpsertPatternResponse>)> done);
  absl::StatusOr<pattern::v1::SearchPatternsResponse> SearchPatterns(
      const pattern::v1::SearchPatternsRequest& request);
  absl::StatusOr<pattern::v1::ListPatternsResponse> ListPatterns(
      const pattern::v1::ListPatternsRequest& request);
  absl::StatusOr<pattern::v1::GetPatternResponse> GetPattern(
      const pattern::v1::GetPatternRequest& request);
  absl::StatusOr<pattern::v1::DeletePatternResponse> DeletePattern(
      const pattern::v1::DeletePatternRequest& request);
  // Follows changes of patterns without a deadline, until the node ends the stream or `on_event`
  // returns false.
  using OnPatternEvent = std::function<bool(const pattern::v1::WatchPatternsResponse&)>;
  absl::Status WatchPatterns(const pattern::v1::WatchPatternsRequest& request,
                             const OnPatternEvent& on_event);
  absl::StatusOr<witness::v1::ListEntriesResponse> ListWitnessEntries(
      const witness::v1::ListEntriesRequest& request);
  absl::StatusOr<witness::v1::GetEntryResponse> GetWitnessEntry(const std::string& request_id);
  absl::StatusOr<witness::v1::GetStatsResponse> GetWitnessStats(
      const witness::v1::GetStatsRequest& request);
  absl::StatusOr<adapter::v1::ListAdaptersResponse> ListAdapters(
      const adapter::v1::ListAdaptersRequest& request);
  absl::StatusOr<adapter::v1::GetAdapterResponse> GetAdapter(
      const adapter::v1::GetAdapterRequest& request);
  absl::StatusOr<adapter::v1::DiffAdaptersResponse> DiffAdapters(
      const adapter::v1::DiffAdaptersRequest& request);
  absl::StatusOr<adapter::v1::LoadAdapterResponse> LoadAdapter(
      const adapter::v1::LoadAdapterRequest& request);
  absl::StatusOr<adapter::v1::ImportAdapterResponse> ImportAdapter(
      const adapter::v1::ImportAdapterRequest& request);
  absl::StatusOr<adapter::v1::UnloadAdapterResponse> UnloadAdapter(
      const adapter::v1::UnloadAdapterRequest& request);
  absl::StatusOr<adapter::v1::PinAdapterResponse> PinAdapter(
      const adapter::v1::PinAdapterRequest& request);
  absl::StatusOr<adapter::v1::RollbackAdapterResponse> RollbackAdapter(
      const adapter::v1::RollbackAdapterRequest& request);
  absl::StatusOr<adapter::v1::ExportAdapterResponse> ExportAdapter(
      const adapter::v1::ExportAdapterRequest& request);
  absl::StatusOr<admin::v1::GetStatusResponse> GetStatus();
  absl::StatusOr<admin::v1::ListMembersResponse> ListMembers();
  absl::StatusOr<admin::v1::SetConsentResponse> SetConsent(pattern::v1::SharingTier tier);
  absl::StatusOr<admin::v1::GetConsentResponse> GetConsent();
  absl::StatusOr<admin::v1::PreviewReleaseResponse> PreviewRelease(
      const admin::v1::PreviewReleaseRequest& request);
  absl::StatusOr<admin::v1::SetUserConsentResponse> SetUserConsent(
      const admin::v1::SetUserConsentRequest& request);
  absl::StatusOr<admin::v1::ListUserConsentsResponse> ListUserConsents();
  absl::StatusOr<admin::v1::BackUpStoreResponse> BackUpStore(const std::string& name);
  absl::StatusOr<admin::v1::EraseUserResponse> EraseUser(const std::string& user_id);
  // Asks grpc.health.v1: returns true if the node serves, false if it answers but does not serve.
  absl::StatusOr<bool> Healthy();

 private:
  struct Stubs;
  std::string server_;
  std::chrono::milliseconds timeout_{300'000};
  std::unique_ptr<Stubs> stubs_;
};

// Calls `visit` for every pattern that `request` selects, page by page from its page token on,
// until `visit` returns an error.
absl::Status ForEachPattern(NodeClient& client, pattern::v1::ListPatternsRequest request,
                            const std::function<absl::Status(pattern::v1::Pattern&)>& visit);

// Returns all patterns of a node.
absl::StatusOr<std::vector<pattern::v1::Pattern>> AllPatterns(NodeClient& client);

}  // namespace ruvd::client
