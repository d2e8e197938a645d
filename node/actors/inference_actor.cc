// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/inference_actor.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/actors/caller_shares.h"
#include "node/actors/caller_turns.h"
#include "node/limits.h"
#include "node/runtime/limits.h"
#include "node/serving/compute_round.h"
#include "node/serving/generation_task.h"
#include "node/serving/score_task.h"
#include "privacy/sodium.h"

namespace ruvd::actors {
namespace {

// An admitted task on its way through the actor. If the last reference is dropped before the caller
// knows the end (forced stop, restart), the destructor tells it: it concludes a task that has ended
// and ends any other with an error, so that no caller waits for ever.
class AdmittedTask {
 public:
  AdmittedTask(std::unique_ptr<serving::ComputeTask> task, std::string caller,
               std::shared_ptr<CallerShares> shares)
      : task_(std::move(task)),
        caller_(std::move(caller)),
        shares_(std::move(shares)),
        round_{.task = task_.get()} {}
  ~AdmittedTask() {
    if (task_ != nullptr && task_->NeedsConclusion()) {
      task_->Conclude();
    } else if (task_ != nullptr) {
      task_->Fail(Error(absl::StatusCode::kUnavailable, reasons::kNodeDraining,
                        "the node stopped before the request was finished; send it to another "
                        "node or try again"));
    }
    Leave();
  }
  AdmittedTask(const AdmittedTask&) = delete;
  AdmittedTask& operator=(const AdmittedTask&) = delete;

  // The state that is kept from round to round.
  serving::ComputeRoundTask& round() { return round_; }
  // Call it before the end of the task.
  TaskOfCaller turn() const { return {.caller = caller_, .is_score = task_->HasManySlices()}; }
  // Call this when the caller knows the end, or was told that the task will not run.
  void Forget() { task_.reset(); }
  // Call this when the task has ended. Returns whether it must still be concluded.
  bool Ended() {
    if (task_ != nullptr && !task_->NeedsConclusion()) {
      Forget();
    }
    return task_ != nullptr;
  }
  // Concludes a task that must be, and ends its admission.
  void Conclude() {
    task_->Conclude();
    Forget();
    Leave();
  }

 private:
  void Leave() {
    if (const auto shares = std::exchange(shares_, nullptr)) {
      shares->GiveBack(caller_);
    }
  }

  std::unique_ptr<serving::ComputeTask> task_;
  const std::string caller_;
  std::shared_ptr<CallerShares> shares_;  // null once the admission has ended
  serving::ComputeRoundTask round_;
};

struct Admit {
  std::shared_ptr<AdmittedTask> task;
};
using SchedulerMessage = std::variant<Admit>;

// The work of one visit to the compute thread. It refers to nothing in the scheduler, because it
// outlives the scheduler after a forced stop.
struct Visit {
  std::vector<std::shared_ptr<AdmittedTask>> tasks;
  serving::ComputeRoundOutcome outcome;
  inference::StepScratch scratch;  // reused by the next visit
};

void Run(inference::Transformer& transformer, Visit* visit) {
  std::vector<serving::ComputeRoundTask> tasks;
  tasks.reserve(visit->tasks.size());
  for (const std::shared_ptr<AdmittedTask>& task : visit->tasks) {
    tasks.push_back(task->round());
  }
  visit->outcome =
      serving::RunComputeRound(tasks, limits::kMaxBatchRows, transformer, &visit->scratch);
  for (size_t i = 0; i < tasks.size(); ++i) {
    visit->tasks[i]->round() = tasks[i];
    if (visit->outcome.turns[i] == serving::TaskProgress::kEnded) {
      visit->tasks[i]->Ended();
    }
  }
}

// Leaves room for the two other jobs that the scheduler may have under way: a visit to the compute
// thread and a conclusion. If one of these were refused, the actor would restart and lose all
// tasks.
constexpr size_t kMaxPreparations = limits::kMaxOutstandingPerActor - 2;

// Lets admitted tasks take turns on the compute thread, with the completions in one batch.
class Scheduler final : public runtime::Actor<SchedulerMessage> {
 public:
  Scheduler(inference::Transformer& transformer, Executor& compute, Executor& files,
            Executor& records, metrics::Metrics& metrics)
      : transformer_(transformer),
        compute_(compute),
        files_(files),
        records_(records),
        metrics_(metrics) {}

  absl::Status On(Admit& message, Context& context) override {
    const std::shared_ptr<AdmittedTask> task = message.task;
    if (preparing_ < kMaxPreparations && task->round().task->NeedsPreparation()) {
      const absl::Status begun = context.Offload(
          files_, [task] { task->round().task->Prepare(); },
          [this, task](Context& own) {
            --preparing_;
            return Enqueue(task, own);
          });
      if (begun.ok()) {
        ++preparing_;
        return absl::OkStatus();
      }
    }
    // If too many preparations are under way, the first slice reads the files itself.
    return Enqueue(task, context);
  }

 private:
  absl::Status Enqueue(const std::shared_ptr<AdmittedTask>& task, Context& context) {
    waiting_.push_back(task);
    return Pump(context);
  }

  absl::Status Pump(Context& context) {
    EndUnwanted();
    RETURN_IF_ERROR(ConcludeEnded(context));
    if (busy_) {
      return absl::OkStatus();
    }
    GivePlaces();
    if (active_.empty()) {
      return absl::OkStatus();
    }
    visit_->tasks = std::exchange(active_, {});
    busy_ = true;
    return context.Offload(
        compute_, [transformer = &transformer_, visit = visit_] { Run(*transformer, visit.get()); },
        [this](Context& own) {
          busy_ = false;
          AfterVisit();
          return Pump(own);
        });
  }

  void GivePlaces() {
    if (waiting_.empty()) {  // as between most steps
      return;
    }
    const auto turn = [](const std::shared_ptr<AdmittedTask>& task) { return task->turn(); };
    std::vector<TaskOfCaller> running;
    std::ranges::transform(active_, std::back_inserter(running), turn);
    std::vector<TaskOfCaller> waiting;
    std::ranges::transform(waiting_, std::back_inserter(waiting), turn);
    while (const std::optional<size_t> next = turns_.Next(running, waiting)) {
      const auto at = static_cast<std::ptrdiff_t>(*next);
      running.push_back(waiting[*next]);
      waiting.erase(waiting.begin() + at);
      active_.push_back(std::move(waiting_[*next]));
      active_.back()->round().number = next_number_++;
      waiting_.erase(waiting_.begin() + at);
    }
  }

  // Ends waiting tasks that are no longer wanted, to free their places in the queue.
  void EndUnwanted() {
    std::erase_if(waiting_, [this](const std::shared_ptr<AdmittedTask>& waiting) {
      const bool unwanted = waiting->round().task->EndIfCancelled();
      if (unwanted && waiting->Ended()) {
        ended_.push_back(waiting);
      }
      return unwanted;
    });
  }

  // Concludes ended tasks, in their order, where waiting for the disk delays no step. A drain waits
  // for it, and so do the tasks that end meanwhile: the queue bounds them, because an admission
  // lasts until the conclusion.
  absl::Status ConcludeEnded(Context& context) {
    if (concluding_ || ended_.empty()) {
      return absl::OkStatus();
    }
    concluding_ = true;
    return context.Offload(
        records_,
        [tasks = std::exchange(ended_, {})] {
          for (const std::shared_ptr<AdmittedTask>& task : tasks) {
            task->Conclude();
          }
        },
        [this](Context& own) {
          concluding_ = false;
          return ConcludeEnded(own);
        });
  }

  // Tasks whose turn did not come go first next time.
  void AfterVisit() {
    const serving::ComputeRoundOutcome& outcome = visit_->outcome;
    if (outcome.batch > 0) {
      metrics_.BatchStepped(outcome.batch, outcome.rows);
    }
    metrics_.GenerationsPreempted(outcome.preempted);
    for (size_t i = 0; i < outcome.turns.size(); ++i) {
      if (outcome.turns[i] == serving::TaskProgress::kEnded && visit_->tasks[i]->Ended()) {
        ended_.push_back(visit_->tasks[i]);
      }
    }
    for (const serving::TaskProgress turn :
         {serving::TaskProgress::kWaiting, serving::TaskProgress::kServed}) {
      for (size_t i = 0; i < outcome.turns.size(); ++i) {
        if (outcome.turns[i] == turn) {
          active_.push_back(visit_->tasks[i]);
        }
      }
    }
    visit_->tasks.clear();
  }

  inference::Transformer& transformer_;
  Executor& compute_;
  Executor& files_;
  Executor& records_;
  metrics::Metrics& metrics_;
  std::deque<std::shared_ptr<AdmittedTask>> waiting_;
  CallerTurns turns_;
  std::vector<std::shared_ptr<AdmittedTask>> active_;  // in order of turns
  std::shared_ptr<Visit> visit_ = std::make_shared<Visit>();
  bool busy_ = false;
  std::vector<std::shared_ptr<AdmittedTask>> ended_;  // wait to be concluded
  bool concluding_ = false;
  size_t preparing_ = 0;  // tasks whose preparation is under way
  uint64_t next_number_ = 0;
};

// Records the steps of a generation in the metrics and forwards its events to the caller's
// listener.
class MeteredListener final : public serving::GenerationListener {
 public:
  MeteredListener(std::shared_ptr<serving::GenerationListener> inner,
                  const InferenceActorOptions& options)
      : inner_(std::move(inner)),
        metrics_(*options.metrics),
        clock_(*options.services.clock),
        on_step_(options.on_step) {}
  void OnStarted(const serving::GenerationStarted& started) override {
    last_step_ = clock_.Now();
    inner_->OnStarted(started);
  }
  void OnStep(const inference::StepResult& step) override {
    const TimePoint now = clock_.Now();
    const double seconds = std::chrono::duration<double>(now - last_step_).count();
    metrics_.StepEnded(seconds, static_cast<int>(step.commits.size()));
    if (on_step_) {
      on_step_(seconds);
    }
    last_step_ = now;
    inner_->OnStep(step);
  }
  void OnEnd(const absl::StatusOr<serving::GenerationFinished>& result) override {
    inner_->OnEnd(result);
  }
  bool cancelled() const override { return inner_->cancelled(); }

 private:
  const std::shared_ptr<serving::GenerationListener> inner_;
  metrics::Metrics& metrics_;
  const Clock& clock_;
  const std::function<void(double)> on_step_;
  TimePoint last_step_{};
};

class InferenceActorImpl final : public serving::InferenceActor {
 public:
  InferenceActorImpl(runtime::ActorSystem& system, const InferenceActorOptions& options)
      : options_(options), shares_(std::make_shared<CallerShares>(options.queue)) {
    runtime::SpawnOptions<SchedulerMessage> spawn;
    spawn.name = "inference";
    // Admission below limits the tasks, so the mailbox itself never overflows.
    spawn.mailbox.capacity = options.queue + 1;
    ref_ = system.Spawn<SchedulerMessage>(spawn, [options] {
      return std::make_unique<Scheduler>(*options.transformer, *options.compute, *options.files,
                                         *options.records, *options.metrics);
    });
  }

  absl::Status Generate(serving::GenerationJob job) override {
    std::array<uint8_t, 16> id{};
    privacy::SecureRandomBytes(id);
    if (job.draws_seed) {
      // 32 bits are enough to differ, and short enough to be typed.
      job.options.seed = static_cast<uint32_t>(privacy::SecureRandomNumber());
    }
    job.listener = std::make_shared<MeteredListener>(std::move(job.listener), options_);
    serving::GenerationServices services = options_.services;
    services.queue_share = [shares = shares_, queue = static_cast<float>(options_.queue)] {
      return static_cast<float>(shares->taken()) / queue;
    };
    const std::string user_id = job.user_id;
    const std::string caller = job.caller;
    RETURN_IF_ERROR(Admitted(
        std::make_unique<serving::GenerationTask>(std::move(services), ToHex(id), std::move(job)),
        caller));
    // Not for refused requests, so that the queue also bounds the keys that are being made.
    if (!user_id.empty()) {
      options_.services.prepare_user_key(user_id);
    }
    return absl::OkStatus();
  }
  absl::Status Score(serving::ScoreJob job,
                     std::function<void(absl::StatusOr<serving::ScoreAnswer>)> done) override {
    job.options.cancelled = options_.aborted;
    const std::string caller = job.caller;
    return Admitted(std::make_unique<serving::ScoreTask>(options_.services, *options_.exact,
                                                         std::move(job), std::move(done)),
                    caller);
  }
  absl::Status Embed(serving::EmbedJob job,
                     std::function<void(absl::StatusOr<serving::EmbedAnswer>)> done) override {
    return EmbedList({.texts = {std::move(job.text)},
                      .caller = std::move(job.caller),
                      .unwanted = std::move(job.unwanted)},
                     [done = std::move(done)](serving::EmbedListAnswer answer) {
                       if (answer.status.ok()) {
                         done(std::move(answer.texts.front()));
                       } else {
                         done(answer.status);
                       }
                     });
  }
  absl::Status EmbedList(serving::EmbedListJob job,
                         std::function<void(serving::EmbedListAnswer)> done) override {
    const std::string caller = job.caller;
    return Admitted(std::make_unique<serving::EmbedTask>(options_.services.whitening,
                                                         std::move(job), std::move(done)),
                    caller);
  }
  uint64_t running() const override { return shares_->taken(); }

 private:
  absl::Status Admitted(std::unique_ptr<serving::ComputeTask> task, const std::string& caller) {
    RETURN_IF_ERROR(TakePlace(caller));
    auto admitted = std::make_shared<AdmittedTask>(std::move(task), caller, shares_);
    absl::Status status = ref_.TryTell(Admit{admitted});
    if (!status.ok()) {
      admitted->Forget();
    }
    return status;
  }
  // Takes a place of the queue.
  absl::Status TakePlace(const std::string& caller) {
    const CallerShares::Answer answer = shares_->Take(caller);
    if (answer == CallerShares::Answer::kTaken) {
      return absl::OkStatus();
    }
    if (answer == CallerShares::Answer::kFull) {
      return Error(absl::StatusCode::kResourceExhausted, reasons::kMailboxFull,
                   "{} requests are waiting or running, the limit of inference.queue; try again in "
                   "a moment",
                   options_.queue);
    }
    return Error(absl::StatusCode::kResourceExhausted, reasons::kMailboxFull,
                 "this caller's requests have their share of the {} places of inference.queue, and "
                 "the free places are for other callers; try again when one of its requests has "
                 "ended",
                 options_.queue);
  }

  const InferenceActorOptions options_;
  const std::shared_ptr<CallerShares> shares_;
  runtime::Ref<SchedulerMessage> ref_;
};

}  // namespace

std::unique_ptr<serving::InferenceActor> StartInferenceActor(runtime::ActorSystem& system,
                                                             const InferenceActorOptions& options) {
  return std::make_unique<InferenceActorImpl>(system, options);
}

}  // namespace ruvd::actors
