// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/client/client.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/client_unary_call.h>
#include <grpcpp/impl/rpc_method.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "grpc/health/v1/health.pb.h"
#include "node/client/api_channel.h"
#include "node/client/request_text.h"
#include "node/client/rpc_error.h"
#include "node/transport/callback_queue.h"
#include "ruvd/inference/v1/inference.grpc.pb.h"
#include "ruvd/learning/v1/learning.grpc.pb.h"
#include "ruvd/pattern/v1/pattern.grpc.pb.h"

namespace ruvd::client {
namespace {

using google::protobuf::Message;
using google::protobuf::MessageLite;

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
        patterns(channel) {}

  const absl::Status problem;
  std::shared_ptr<grpc::Channel> channel;
  inference::v1::InferenceService::Stub inference;
  learning::v1::LearningService::Stub learning;
  pattern::v1::PatternService::Stub patterns;
};

NodeClient::NodeClient(std::string server, const ClientCredentials& credentials)
    : server_(std::move(server)), stubs_(std::make_unique<Stubs>(server_, credentials)) {}
NodeClient::~NodeClient() = default;

absl::Status NodeClient::CallUnary(const Message& request, Message* response) {
  const std::string path = MethodPath(*request.GetDescriptor(), *response->GetDescriptor());
  RUVD_CHECK(!path.empty());
  RETURN_IF_ERROR(stubs_->problem);
  RETURN_IF_ERROR(CheckRequestTexts(request));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + timeout_);
  // As in a generated stub, an answer that is missing or that cannot be read is an error.
  const grpc::internal::RpcMethod method(path.c_str(), grpc::internal::RpcMethod::NORMAL_RPC);
  const grpc::Status status = grpc::internal::BlockingUnaryCall<MessageLite, MessageLite>(
      stubs_->channel.get(), method, &context, request, response);
  return ToStatus(status, server_);
}

absl::Status NodeClient::Generate(const inference::v1::GenerateRequest& request,
                                  const OnEvent& on_event) {
  RETURN_IF_ERROR(stubs_->problem);
  RETURN_IF_ERROR(CheckRequestTexts(request));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + timeout_);
  auto reader = stubs_->inference.Generate(&context, request);
  inference::v1::GenerateResponse event;
  bool finished = false;
  while (reader->Read(&event)) {
    finished = finished || event.has_finished();
    on_event(event);
  }
  RETURN_IF_ERROR(ToStatus(reader->Finish(), server_));
  if (!finished) {
    return Error(absl::StatusCode::kDataLoss, reasons::kInternal,
                 "{} ended the answer without its last event, so text may be missing; check that "
                 "this address is a ruvd node of the same version, and ask again",
                 server_);
  }
  return absl::OkStatus();
}

// The node ends a call a little after its answer, and files of other clients may arrive, too.
absl::StatusOr<learning::v1::AddLessonsResponse> NodeClient::AddLessons(
    const learning::v1::LessonFile& file, std::string_view bytes) {
  constexpr std::chrono::milliseconds kLongestWait(2000);
  const auto end = std::chrono::steady_clock::now() + timeout_;
  std::chrono::milliseconds wait(50);
  while (true) {
    auto added = SendLessons(file, bytes);
    if (ReasonOf(added.status()) != reasons::kMailboxFull ||
        std::chrono::steady_clock::now() + wait > end) {
      return added;
    }
    std::this_thread::sleep_for(wait);
    wait = std::min(2 * wait, kLongestWait);
  }
}

absl::StatusOr<learning::v1::AddLessonsResponse> NodeClient::SendLessons(
    const learning::v1::LessonFile& file, std::string_view bytes) {
  constexpr size_t kPieceBytes = 256 << 10;
  RETURN_IF_ERROR(stubs_->problem);
  RETURN_IF_ERROR(CheckRequestTexts(file));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + timeout_);
  learning::v1::AddLessonsResponse response;
  const auto writer = stubs_->learning.AddLessons(&context, &response);
  learning::v1::AddLessonsRequest request;
  *request.mutable_file() = file;
  bool open = writer->Write(request);  // false: the node ended the call, and Finish says why
  for (size_t begin = 0; open && begin < bytes.size(); begin += kPieceBytes) {
    request.set_data(std::string(bytes.substr(begin, kPieceBytes)));
    open = writer->Write(request);
  }
  writer->WritesDone();
  RETURN_IF_ERROR(ToStatus(writer->Finish(), server_));
  return response;
}

void NodeClient::StartUpsertPattern(
    const std::shared_ptr<const pattern::v1::UpsertPatternRequest>& request,
    std::function<void(absl::StatusOr<pattern::v1::UpsertPatternResponse>)> done) {
  const absl::Status status = stubs_->problem.ok() ? CheckRequestTexts(*request) : stubs_->problem;
  if (!status.ok()) {
    done(status);
    return;
  }
  transport::RetainCallbackQueue();
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

absl::StatusOr<bool> NodeClient::Healthy(std::string_view service) {
  using grpc::health::v1::HealthCheckResponse;
  grpc::health::v1::HealthCheckRequest request;
  request.set_service(std::string(service));
  ASSIGN_OR_RETURN(const auto response, Call<HealthCheckResponse>(request));
  return response.status() == HealthCheckResponse::SERVING;
}

std::string MethodPath(const google::protobuf::Descriptor& request,
                       const google::protobuf::Descriptor& response) {
  const google::protobuf::FileDescriptor& file = *request.file();
  for (int i = 0; i < file.service_count(); ++i) {
    const google::protobuf::ServiceDescriptor& service = *file.service(i);
    for (int j = 0; j < service.method_count(); ++j) {
      const google::protobuf::MethodDescriptor& method = *service.method(j);
      const bool streams = method.client_streaming() || method.server_streaming();
      if (!streams && method.input_type() == &request && method.output_type() == &response) {
        return fmt::format("/{}/{}", service.full_name(), method.name());
      }
    }
  }
  return "";
}

absl::Status ForEachPattern(NodeClient& client, pattern::v1::ListPatternsRequest request,
                            const std::function<absl::Status(pattern::v1::Pattern&)>& visit) {
  do {
    ASSIGN_OR_RETURN(auto page, client.Call<pattern::v1::ListPatternsResponse>(request));
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
