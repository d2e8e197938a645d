// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/messages.h"
#include "node/api/rpc_status.h"
#include "node/api/services.h"
#include "ruvd/learning/v1/learning.grpc.pb.h"

namespace ruvd {
namespace {

class LearningServiceImpl final : public learning::v1::LearningService::CallbackService {
 public:
  explicit LearningServiceImpl(const ServiceDependencies& dependencies) : node_(dependencies) {}

  grpc::ServerUnaryReactor* SubmitFeedback(
      grpc::CallbackServerContext* context, const learning::v1::SubmitFeedbackRequest* request,
      learning::v1::SubmitFeedbackResponse* response) override {
    auto* reactor = context->DefaultReactor();
    absl::StatusOr<Feedback> feedback = ReadFeedback(*request);
    absl::Status status = feedback.status();
    if (status.ok()) {
      status = node_.learning->Submit(
          *std::move(feedback), [reactor, response](const absl::StatusOr<FeedbackAnswer>& answer) {
            if (answer.ok()) {
              WriteFeedbackAnswer(*answer, response);
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

std::unique_ptr<grpc::Service> MakeLearningService(const ServiceDependencies& dependencies) {
  return std::make_unique<LearningServiceImpl>(dependencies);
}

}  // namespace ruvd
