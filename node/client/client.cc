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
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "grpc/health/v1/health.pb.h"
#include "node/client/api_channel.h"
#include "node/client/pages.h"
#include "node/client/request_text.h"
#include "node/client/rpc_error.h"
#include "node/client/stubs-inl.h"

namespace ruvd::client {
namespace {

using google::protobuf::Message;
using google::protobuf::MessageLite;

// Reads a stream of messages about progress, the last of which has the result.
template <typename Response, typename OnProgress>
auto ReadResult(grpc::ClientReader<Response>& reader, const OnProgress& on_progress,
                const std::string& server)
    -> absl::StatusOr<std::remove_cvref_t<decltype(Response().result())>> {
  Response event;
  std::optional<std::remove_cvref_t<decltype(event.result())>> result;
  while (reader.Read(&event)) {
    if (event.has_result()) {
      result = std::move(*event.mutable_result());
    } else if (event.has_progress() && on_progress) {
      on_progress(event.progress());
    }
  }
  RETURN_IF_ERROR(ToStatus(reader.Finish(), server));
  if (!result) {
    return CutOff(server);
  }
  return *std::move(result);
}

}  // namespace

absl::Status ToStatus(const grpc::Status& status, const std::string& server) {
  return StatusOfCall(static_cast<int>(status.error_code()), status.error_message(),
                      status.error_details(), server);
}

absl::Status CutOff(const std::string& server) {
  return Error(absl::StatusCode::kDataLoss, reasons::kInternal,
               "{} ended the answer without its last event, so text may be missing; check that "
               "this address is a ruvd node of the same version, and ask again",
               server);
}

NodeClient::Stubs::Stubs(const std::string& server, const ClientCredentials& credentials)
    : problem(credentials.problem),
      channel(MakeApiChannel(server, credentials)),
      adapters(channel),
      inference(channel),
      learning(channel),
      patterns(channel),
      store(channel) {}

absl::Status NodeClient::Stubs::Begin(const Message& message, std::chrono::milliseconds timeout,
                                      grpc::ClientContext* context) const {
  RETURN_IF_ERROR(problem);
  RETURN_IF_ERROR(CheckRequestTexts(message));
  context->set_deadline(std::chrono::system_clock::now() + timeout);
  return absl::OkStatus();
}

NodeClient::NodeClient(std::string server, const ClientCredentials& credentials)
    : server_(std::move(server)), stubs_(std::make_unique<Stubs>(server_, credentials)) {}
NodeClient::~NodeClient() = default;

absl::Status NodeClient::CallUnary(const Message& request, Message* response) {
  const std::string path = MethodPath(*request.GetDescriptor(), *response->GetDescriptor());
  RUVD_CHECK(!path.empty());
  grpc::ClientContext context;
  RETURN_IF_ERROR(stubs_->Begin(request, timeout_, &context));
  // As in a generated stub, an answer that is missing or that cannot be read is an error.
  const grpc::internal::RpcMethod method(path.c_str(), grpc::internal::RpcMethod::NORMAL_RPC);
  const grpc::Status status = grpc::internal::BlockingUnaryCall<MessageLite, MessageLite>(
      stubs_->channel.get(), method, &context, request, response);
  return ToStatus(status, server_);
}

absl::Status NodeClient::Generate(const inference::v1::GenerateRequest& request,
                                  const OnEvent& on_event) {
  grpc::ClientContext context;
  RETURN_IF_ERROR(stubs_->Begin(request, timeout_, &context));
  auto reader = stubs_->inference.Generate(&context, request);
  inference::v1::GenerateResponse event;
  bool finished = false;
  while (reader->Read(&event)) {
    finished = finished || event.has_finished();
    on_event(event);
  }
  RETURN_IF_ERROR(ToStatus(reader->Finish(), server_));
  return finished ? absl::OkStatus() : CutOff(server_);
}

absl::StatusOr<learning::v1::DeepResult> NodeClient::RunDeep(
    const learning::v1::RunDeepRequest& request,
    const OnProgress<learning::v1::DeepProgress>& on_progress) {
  grpc::ClientContext context;
  RETURN_IF_ERROR(stubs_->Begin(request, timeout_, &context));
  return ReadResult(*stubs_->learning.RunDeep(&context, request), on_progress, server_);
}

absl::StatusOr<learning::v1::BackgroundResult> NodeClient::RunBackground(
    const learning::v1::RunBackgroundRequest& request,
    const OnProgress<learning::v1::BackgroundProgress>& on_progress) {
  grpc::ClientContext context;
  RETURN_IF_ERROR(stubs_->Begin(request, timeout_, &context));
  return ReadResult(*stubs_->learning.RunBackground(&context, request), on_progress, server_);
}

absl::StatusOr<node::v1::BackUpResult> NodeClient::BackUpStore(
    const node::v1::BackUpStoreRequest& request,
    const OnProgress<node::v1::BackUpProgress>& on_progress) {
  grpc::ClientContext context;
  RETURN_IF_ERROR(stubs_->Begin(request, timeout_, &context));
  return ReadResult(*stubs_->store.BackUpStore(&context, request), on_progress, server_);
}

absl::Status NodeClient::WatchPatterns(const pattern::v1::WatchPatternsRequest& request,
                                       const OnPatternEvent& on_event) {
  RETURN_IF_ERROR(stubs_->problem);
  RETURN_IF_ERROR(CheckRequestTexts(request));
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

absl::StatusOr<std::vector<pattern::v1::Pattern>> AllPatterns(NodeClient& client) {
  std::vector<pattern::v1::Pattern> all;
  RETURN_IF_ERROR(ForEachPage<pattern::v1::ListPatternsResponse>(
      client, pattern::v1::ListPatternsRequest(), [&all](pattern::v1::ListPatternsResponse& page) {
        std::ranges::move(*page.mutable_patterns(), std::back_inserter(all));
        return absl::OkStatus();
      }));
  return all;
}

}  // namespace ruvd::client
