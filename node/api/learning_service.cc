// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "node/api/callers.h"
#include "node/api/learning_messages.h"
#include "node/api/messages.h"
#include "node/api/pages.h"
#include "node/api/progress_stream-inl.h"
#include "node/api/query_lane.h"
#include "node/api/rpc_status.h"
#include "node/api/services.h"
#include "node/api/text_lessons.h"
#include "node/learning/deep.h"
#include "node/learning/learning.h"
#include "node/learning/lesson_clusters.h"
#include "node/learning/memory.h"
#include "node/limits.h"
#include "node/sharing/federation.h"
#include "ruvd/learning/v1/learning.grpc.pb.h"
#include "storage/trajectories/trajectory_store.h"

namespace ruvd::api {
namespace {

using Context = grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

// Changes are in the order of their making, newest first. New ones come before the first page, so a
// token names the last change of a page, wherever that stands by now.
absl::Status WriteChanges(const std::vector<storage::LearningChange>& changes,
                          const learning::v1::ListChangesRequest& request,
                          learning::v1::ListChangesResponse* response) {
  constexpr size_t kDefaultSize = 50;
  const size_t size = PageSize(request.page_size(), kDefaultSize, limits::kMaxChanges);
  auto change = changes.begin();
  if (!request.page_token().empty()) {
    ASSIGN_OR_RETURN(const std::string last, ReadPageToken(request.page_token()));
    change = std::ranges::find(changes, last, storage::TokenOf);
    if (change == changes.end()) {
      return StalePageToken(request.page_token());
    }
    ++change;
  }
  for (size_t sent = 0; change != changes.end(); ++change, ++sent) {
    if (sent == size) {
      response->set_next_page_token(PageToken(storage::TokenOf(*std::prev(change))));
      break;
    }
    WriteChange(*change, response->add_changes());
  }
  return absl::OkStatus();
}

class LearningServiceImpl final : public learning::v1::LearningService::CallbackService {
 public:
  explicit LearningServiceImpl(const ServiceDependencies& dependencies)
      : node_(dependencies), lane_(dependencies.queries, limits::kMaxWaitingQueries) {}

  ServerUnaryReactor* SubmitFeedback(Context* context,
                                     const learning::v1::SubmitFeedbackRequest* request,
                                     learning::v1::SubmitFeedbackResponse* response) override {
    auto* reactor = context->DefaultReactor();
    const auto call = AdmitCall(node_.callers, *context);
    absl::StatusOr<learning::Feedback> feedback =
        call.ok() ? ReadFeedback(*request, (*call)->caller()) : call.status();
    absl::Status status = feedback.status();
    if (status.ok()) {
      status = node_.learning->Submit(
          *std::move(feedback),
          Answer<learning::FeedbackAnswer>(
              reactor, [response](const auto& answer) { WriteFeedbackAnswer(answer, response); },
              *call));
    }
    if (!status.ok()) {
      reactor->Finish(ToRpcStatus(status));
    }
    return reactor;
  }

  ServerUnaryReactor* Undo(Context* context, const learning::v1::UndoRequest* request,
                           learning::v1::UndoResponse* response) override {
    auto* reactor = context->DefaultReactor();
    node_.learning->Undo(request->undo_token(),
                         Answer<storage::LearningChange>(reactor, [response](const auto& change) {
                           WriteChange(change, response->mutable_change());
                         }));
    return reactor;
  }

  ServerUnaryReactor* ListChanges(Context* context, const learning::v1::ListChangesRequest* request,
                                  learning::v1::ListChangesResponse* response) override {
    auto* reactor = context->DefaultReactor();
    node_.learning->ListChanges(
        limits::kMaxChanges,
        [reactor, request,
         response](const absl::StatusOr<std::vector<storage::LearningChange>>& changes) {
          reactor->Finish(ToRpcStatus(changes.ok() ? WriteChanges(*changes, *request, response)
                                                   : changes.status()));
        });
    return reactor;
  }

  ServerUnaryReactor* GetLearningStatus(
      Context* context, const learning::v1::GetLearningStatusRequest*,
      learning::v1::GetLearningStatusResponse* response) override {
    auto* reactor = context->DefaultReactor();
    node_.learning->GetStatus(
        [this, reactor, response](const absl::StatusOr<learning::LearningStatus>& learning) {
          if (!learning.ok()) {
            reactor->Finish(ToRpcStatus(learning.status()));
            return;
          }
          WriteLearningStatus(*learning, response->mutable_status());
          node_.deep->GetStatus(
              Answer<learning::DeepStatus>(reactor, [response](const learning::DeepStatus& deep) {
                WriteDeepStatus(deep, response->mutable_status()->mutable_deep());
              }));
        });
    return reactor;
  }

  ServerUnaryReactor* PauseLearning(Context* context, const learning::v1::PauseLearningRequest*,
                                    learning::v1::PauseLearningResponse* response) override {
    auto* reactor = context->DefaultReactor();
    node_.learning->SetPaused(true, StatusAnswer(reactor, response));
    return reactor;
  }

  ServerUnaryReactor* ResumeLearning(Context* context, const learning::v1::ResumeLearningRequest*,
                                     learning::v1::ResumeLearningResponse* response) override {
    auto* reactor = context->DefaultReactor();
    node_.learning->SetPaused(false, StatusAnswer(reactor, response));
    return reactor;
  }

  grpc::ServerWriteReactor<learning::v1::RunBackgroundResponse>* RunBackground(
      Context*, const learning::v1::RunBackgroundRequest* request) override {
    using learning::v1::RunBackgroundResponse;
    using Stream = ProgressStream<RunBackgroundResponse>;
    const auto stream = Stream::Start(*node_.pattern_calls, [this](const Stream::Answer& answer) {
      node_.learning->GetStatus([answer](const absl::StatusOr<learning::LearningStatus>& status) {
        RunBackgroundResponse response;
        if (status.ok()) {
          response.mutable_progress()->set_lessons_waiting(status->lessons_waiting);
        }
        answer(status.ok() ? std::optional(std::move(response)) : std::nullopt);
      });
    });
    node_.learning->RunBackground(
        request->replay(),
        [stream](const absl::StatusOr<learning::BackgroundRoundSummary>& summary) {
          RunBackgroundResponse response;
          if (summary.ok()) {
            WriteRoundSummary(*summary, response.mutable_result());
          }
          stream->End(summary.ok() ? absl::StatusOr<RunBackgroundResponse>(std::move(response))
                                   : summary.status());
        });
    return stream.get();
  }

  grpc::ServerWriteReactor<learning::v1::RunDeepResponse>* RunDeep(
      Context*, const learning::v1::RunDeepRequest*) override {
    using learning::v1::RunDeepResponse;
    using Stream = ProgressStream<RunDeepResponse>;
    const auto stream = Stream::Start(*node_.pattern_calls, [this](const Stream::Answer& answer) {
      node_.deep->GetStatus([answer](const absl::StatusOr<learning::DeepStatus>& status) {
        RunDeepResponse response;
        if (status.ok()) {
          response.mutable_progress()->set_step(status->step);
          response.mutable_progress()->set_steps(status->steps);
        }
        answer(status.ok() ? std::optional(std::move(response)) : std::nullopt);
      });
    });
    node_.deep->Run([stream](const absl::StatusOr<learning::DeepResult>& result) {
      RunDeepResponse response;
      if (result.ok()) {
        WriteDeepResult(*result, response.mutable_result());
      }
      stream->End(result.ok() ? absl::StatusOr<RunDeepResponse>(std::move(response))
                              : result.status());
    });
    return stream.get();
  }

  ServerUnaryReactor* ListLessons(Context* context, const learning::v1::ListLessonsRequest* request,
                                  learning::v1::ListLessonsResponse* response) override {
    auto* reactor = context->DefaultReactor();
    lane_.Run(context, reactor, [this, request, response] { return Lessons(*request, response); });
    return reactor;
  }

  grpc::ServerReadReactor<learning::v1::AddLessonsRequest>* AddLessons(
      Context* context, learning::v1::AddLessonsResponse* response) override {
    return ReceiveLessons(node_, uploads_, context, response);
  }

  ServerUnaryReactor* ListLessonSources(
      Context* context, const learning::v1::ListLessonSourcesRequest* request,
      learning::v1::ListLessonSourcesResponse* response) override {
    auto* reactor = context->DefaultReactor();
    lane_.Run(context, reactor, [this, request, response] {
      return api::ListLessonSources(*node_.lessons, *request, response);
    });
    return reactor;
  }

  ServerUnaryReactor* ListTextLessons(Context* context,
                                      const learning::v1::ListTextLessonsRequest* request,
                                      learning::v1::ListTextLessonsResponse* response) override {
    auto* reactor = context->DefaultReactor();
    lane_.Run(context, reactor, [this, request, response] {
      return api::ListTextLessons(*node_.lessons, *request, response);
    });
    return reactor;
  }

  ServerUnaryReactor* WithdrawLessons(Context* context,
                                      const learning::v1::WithdrawLessonsRequest* request,
                                      learning::v1::WithdrawLessonsResponse* response) override {
    auto* reactor = context->DefaultReactor();
    lane_.Run(context, reactor, [this, request, response] {
      RETURN_IF_ERROR(api::WithdrawLessons(*node_.lessons, *request, response));
      if (node_.memory != nullptr) {
        node_.memory->OnLessonsWithdrawn();
      }
      node_.deep->OnLessonsWithdrawn();
      node_.federation->OnLessonsWithdrawn();
      return absl::OkStatus();
    });
    return reactor;
  }

 private:
  // Finishes a call with an actor's answer; `write` fills the response. `call` ends before the
  // caller hears of it.
  template <typename T, typename Write>
  static learning::LearningActor::Done<T> Answer(
      ServerUnaryReactor* reactor, Write write,
      std::shared_ptr<const AdmittedCall> call = nullptr) {
    return [reactor, write, call](const absl::StatusOr<T>& answer) mutable {
      call.reset();
      if (answer.ok()) {
        write(*answer);
      }
      reactor->Finish(ToRpcStatus(answer.status()));
    };
  }
  template <typename Response>
  static learning::LearningActor::Done<learning::LearningStatus> StatusAnswer(
      ServerUnaryReactor* reactor, Response* response) {
    return Answer<learning::LearningStatus>(
        reactor, [response](const learning::LearningStatus& status) {
          WriteLearningStatus(status, response->mutable_status());
        });
  }

  // Two trajectories never have the same time, so the next page begins after the time of the last
  // trajectory.
  absl::Status Lessons(const learning::v1::ListLessonsRequest& request,
                       learning::v1::ListLessonsResponse* response) {
    const size_t size =
        PageSize(request.page_size(), limits::kMaxLessonPage, limits::kMaxLessonPage);
    ASSIGN_OR_RETURN(const uint64_t after_ms, ReadPagePosition(request.page_token()));
    size_t bytes = 0;
    uint64_t last_ms = 0;
    return node_.trajectories->ForEachSince(
        after_ms > 0 ? static_cast<int64_t>(after_ms) + 1 : 0,
        [&](const storage::Trajectory& trajectory) {
          const std::string text = learning::TargetText(trajectory, node_.min_rating);
          if (text.empty()) {
            return true;
          }
          const size_t grown =
              trajectory.prompt.size() + trajectory.completion.size() + text.size();
          const bool full = static_cast<size_t>(response->lessons_size()) == size ||
                            (bytes > 0 && bytes + grown > limits::kMaxPageBytes);
          if (full) {
            response->set_next_page_token(PageToken(std::to_string(last_ms)));
            return false;
          }
          bytes += grown;
          last_ms = static_cast<uint64_t>(trajectory.created_ms);
          WriteLesson(trajectory, text, response->add_lessons());
          return true;
        });
  }

  const ServiceDependencies node_;
  QueryLane lane_;
  std::atomic<size_t> uploads_{0};
};

}  // namespace

std::unique_ptr<grpc::Service> MakeLearningService(const ServiceDependencies& dependencies) {
  return std::make_unique<LearningServiceImpl>(dependencies);
}

}  // namespace ruvd::api
