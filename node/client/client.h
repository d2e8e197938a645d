// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <google/protobuf/message.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "node/client/client_credentials.h"
#include "ruvd/adapter/v1/adapter.pb.h"
#include "ruvd/inference/v1/inference.pb.h"
#include "ruvd/learning/v1/learning.pb.h"
#include "ruvd/node/v1/node.pb.h"
#include "ruvd/pattern/v1/pattern.pb.h"

namespace ruvd::client {

// A pattern as it is stored, with the bytes of its adapter, which are empty if it has none.
struct ExportedPattern {
  pattern::v1::Pattern pattern;
  std::string adapter;
};

// A client of a node: all calls of the public services. Calls block and have a deadline, except for
// those whose name begins with Start, and WatchPatterns. Errors carry the reason that the node sent
// (google.rpc.ErrorInfo). If no node listens, the error is NODE_UNREACHABLE; a text that is not
// UTF-8 is INVALID_ARGUMENT and is not sent. A stream that ends without its last event is
// DATA_LOSS. Thread-safe.
class NodeClient {
 public:
  // `server` is HOST:PORT or unix:PATH. The client connects on the first call. Proxies of the
  // environment are not used, because the node is in the local network. If the credentials have a
  // problem, every call returns it.
  explicit NodeClient(std::string server, const ClientCredentials& credentials = {});
  ~NodeClient();
  NodeClient(const NodeClient&) = delete;
  NodeClient& operator=(const NodeClient&) = delete;

  const std::string& server() const { return server_; }
  // Sets the deadline of every later call.
  void set_timeout(std::chrono::milliseconds timeout) { timeout_ = timeout; }

  // Calls the method that takes `request` and answers with a Response, as in
  // `client.Call<GetStatusResponse>(GetStatusRequest())`. The process ends if the .proto file of
  // `request` has no such method.
  template <typename Response>
  absl::StatusOr<Response> Call(const google::protobuf::Message& request) {
    Response response;
    absl::Status status = CallUnary(request, &response);
    if (!status.ok()) {
      return status;
    }
    return response;
  }

  using OnEvent = std::function<void(const inference::v1::GenerateResponse&)>;
  absl::Status Generate(const inference::v1::GenerateRequest& request, const OnEvent& on_event);

  // Called on the caller's thread with each message about how far a call is; may be null.
  template <typename Progress>
  using OnProgress = std::function<void(const Progress&)>;
  // Run a round and return its result.
  absl::StatusOr<learning::v1::DeepResult> RunDeep(
      const learning::v1::RunDeepRequest& request,
      const OnProgress<learning::v1::DeepProgress>& on_progress = nullptr);
  absl::StatusOr<learning::v1::BackgroundResult> RunBackground(
      const learning::v1::RunBackgroundRequest& request,
      const OnProgress<learning::v1::BackgroundProgress>& on_progress = nullptr);
  // Makes a backup, or follows the one of this name that is being made.
  absl::StatusOr<node::v1::BackUpResult> BackUpStore(
      const node::v1::BackUpStoreRequest& request,
      const OnProgress<node::v1::BackUpProgress>& on_progress = nullptr);

  // Sends a file whose lessons the node stores. `file.bytes` must be the size of `bytes`. Waits
  // while the node takes no more files, until the timeout.
  absl::StatusOr<learning::v1::AddLessonsResponse> AddLessons(const learning::v1::LessonFile& file,
                                                              std::string_view bytes);
  // Sends a file with an adapter. `file.bytes` must be the size of `bytes`.
  absl::StatusOr<adapter::v1::ImportAdapterResponse> ImportAdapter(
      const adapter::v1::AdapterFile& file, std::string_view bytes);
  // Returns the bytes of a file with an adapter.
  absl::StatusOr<std::string> ExportAdapter(const adapter::v1::ExportAdapterRequest& request);
  // Returns a pattern with its embedding and its adapter.
  absl::StatusOr<ExportedPattern> ExportPattern(const std::string& id);

  // Start a call and do not wait: `done` is called once, on a gRPC thread or before this returns.
  // The client must outlive the call. The pointers must not be null. `file.adapter_bytes` must be
  // the size of `adapter`.
  void StartUpsertPattern(
      const std::shared_ptr<const pattern::v1::UpsertPatternRequest>& request,
      std::function<void(absl::StatusOr<pattern::v1::UpsertPatternResponse>)> done);
  void StartImportPattern(
      const std::shared_ptr<const pattern::v1::PatternFile>& file,
      const std::shared_ptr<const std::string>& adapter,
      std::function<void(absl::StatusOr<pattern::v1::ImportPatternResponse>)> done);
  // Follows changes of patterns without a deadline, until the node ends the stream or `on_event`
  // returns false.
  using OnPatternEvent = std::function<bool(const pattern::v1::WatchPatternsResponse&)>;
  absl::Status WatchPatterns(const pattern::v1::WatchPatternsRequest& request,
                             const OnPatternEvent& on_event);
  // Asks grpc.health.v1 about a gRPC service, or with "" about the whole node: returns true if it
  // serves, false if the node answers but the service does not serve.
  absl::StatusOr<bool> Healthy(std::string_view service = "");

 private:
  struct Stubs;

  absl::StatusOr<learning::v1::AddLessonsResponse> SendLessons(const learning::v1::LessonFile& file,
                                                               std::string_view bytes);
  absl::Status CallUnary(const google::protobuf::Message& request,
                         google::protobuf::Message* response);

  std::string server_;
  std::chrono::milliseconds timeout_{300'000};
  std::unique_ptr<Stubs> stubs_;
};

// Returns the path of the method that takes `request` and answers with `response`, e.g.
// "/ruvd.node.v1.NodeService/GetStatus"; "" if the .proto file of `request` has no such method.
std::string MethodPath(const google::protobuf::Descriptor& request,
                       const google::protobuf::Descriptor& response);

// Returns all patterns of a node.
absl::StatusOr<std::vector<pattern::v1::Pattern>> AllPatterns(NodeClient& client);

}  // namespace ruvd::client
