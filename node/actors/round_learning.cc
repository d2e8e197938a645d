// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/round_learning.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "inference/adapter/core_shape.h"
#include "node/actors/log_failure.h"
#include "node/actors/throttled_learning.h"
#include "node/log/log.h"
#include "privacy/identity/admission.h"
#include "privacy/sodium.h"
#include "ruvd/storage/v1/state.pb.h"
#include "storage/consent/consent_book.h"
#include "storage/state/state_names.h"

namespace ruvd::actors {
namespace {

constexpr std::string_view kGlobalName = "global";

}  // namespace

RoundLearning::RoundLearning(const FederationActorOptions& options, sharing::OwnPatterns& own,
                             Perform perform)
    : options_(options), learner_(*options.rounds), own_(own), perform_(std::move(perform)) {}

sharing::NodeRoundsOptions RoundLearning::OptionsOfRounds() {
  sharing::NodeRoundsOptions rounds{
      .plan = learner_.plan,
      .cluster = privacy::ClusterIdOf(options_.gossip.certificate.issuer.root),
      .self = options_.key->id(),
      .random = privacy::SecureRandomBytes,
      .save = [this](std::string state) { Save(std::move(state)); },
      .noise =
          [this](const sharing::PreparedSum& sum, const privacy::masking::Clique& clique) {
            return options_.contributor->NoiseShare(options_.learning, *learner_.plan, sum, clique);
          },
      .pay =
          [this](const sharing::PreparedSum& sum, const privacy::LedgerCharge& charge) {
            return options_.contributor->PayForShare(options_.learning, *learner_.plan, sum,
                                                     charge);
          },
      .last_reservation = [this] { return options_.contributor->last_reservation(); },
      .may_leave = nullptr,
      .record =
          [this](federation::Actions offered, std::vector<privacy::Contributor> contributors,
                 federation::GossipCore& core) {
            return own_.RecordContribution(std::move(offered), std::move(contributors), core);
          },
      .edit = learner_.edit,
      .edit_checkpoint = nullptr};
  if (options_.consents != nullptr) {
    rounds.may_leave = [this](std::span<const privacy::Contributor> contributors,
                              privacy::ConsentTier tier) {
      return options_.consents->MayShare(contributors, tier, options_.clock->WallMillis());
    };
  }
  return rounds;
}

std::string RoundLearning::SavedState() const {
  if (options_.state == nullptr) {
    return "";
  }
  const auto stored = options_.state->Get(storage::state::ClusterRounds());
  LogFailure("the state of the rounds cannot be read, so it is taken from peers", stored.status());
  return stored.ok() && *stored ? (*stored)->state() : "";
}

absl::Status RoundLearning::Restore() {
  ASSIGN_OR_RETURN(rounds_, sharing::NodeRounds::Create(OptionsOfRounds(), SavedState(), Now()));
  return absl::OkStatus();
}

void RoundLearning::OnRestored(federation::GossipCore& core, Context& context) {
  for (const federation::Item& item : core.Items()) {
    OnItem(item);
  }
  if (options_.lessons != nullptr) {
    const storage::LessonWithdrawals withdrawals = options_.lessons->withdrawals();
    if (withdrawals.handled != withdrawals.made) {
      OnLessonsWithdrawn(core, context);
    }
  }
}

void RoundLearning::OnItem(const federation::Item& item) {
  LogFailure("an item of the rounds has no effect", rounds_->OnItem(item));
}

void RoundLearning::ExcludeExpelled(const federation::GossipCore& core) {
  if (rounds_->ExcludeExpelled(core)) {
    StopServing();
  }
}

void RoundLearning::StopServing() {
  judged_ = {};
  if (served_ != nullptr) {
    Serve(nullptr);  // the next adapter is judged against none
    LogInfo("the global adapter is served again once it is made without the excluded member");
  }
}

void RoundLearning::OnTick(federation::GossipCore& core, int64_t consent_since_ms,
                           Context& context) {
  Follow(rounds_->OnTick(core, consent_since_ms, Now()), core, context);
}

void RoundLearning::Follow(sharing::RoundsOutput output, federation::GossipCore& core,
                           Context& context) {
  perform_(std::move(output.actions), context);
  for (const uint64_t reservation : output.sent) {
    options_.contributor->NoteSent(reservation);
  }
  LogFailure("the state of the rounds could not be offered", output.checkpoint);
  if (output.excluded) {
    StopServing();
  }
  if (output.work) {
    std::visit([&](const auto& work) { Begin(work, core, context); }, *output.work);
  }
}

void RoundLearning::OnLessonsWithdrawn(federation::GossipCore& core, Context& context) {
  // A withdrawal that follows now is handled by its own call.
  const uint64_t made = options_.lessons != nullptr ? options_.lessons->withdrawals().made : 0;
  perform_(rounds_->OnLessonsWithdrawn(core), context);
  if (options_.lessons != nullptr) {
    LogFailure("it could not be noted that withdrawn lessons are out of what this node offers",
               options_.lessons->NoteWithdrawalsHandled(made));
  }
}

void RoundLearning::Save(std::string state) {
  if (options_.state == nullptr) {
    return;
  }
  storage::v1::ClusterRounds message;
  message.set_state(std::move(state));
  LogFailure("the state of the rounds could not be saved",
             options_.state->Put(storage::state::ClusterRounds(), message));
}

// Work on the pool refers to nothing in this actor, because it outlives the actor after a forced
// stop.
void RoundLearning::Begin(const sharing::ContributionWork& work, federation::GossipCore& core,
                          Context& context) {
  using Made = absl::StatusOr<std::optional<sharing::LocalContribution>>;
  auto made = std::make_shared<Made>(absl::UnknownError("not run"));
  const absl::Status started = context.Offload(
      *options_.learning_pool,
      [contributor = options_.contributor, services = options_.learning,
       throttle = options_.throttle, plan = learner_.plan, work, made]() mutable {
        const ThrottledLearning throttled(throttle, &services);
        *made = contributor->Make(services, {.plan = plan.get(),
                                             .round = work.round,
                                             .base = work.base.get(),
                                             .tier = work.tier,
                                             .nodes = work.nodes});
      },
      [this, &core, work, made](Context& own) {
        Follow(rounds_->EndContribution(work, std::move(*made), core, Now()), core, own);
        return absl::OkStatus();
      });
  if (!started.ok()) {
    LogFailure("a contribution was not begun", started);
    Follow(rounds_->EndContribution(work, started, core, Now()), core, context);
  }
}

void RoundLearning::Begin(const sharing::SumWork& work, federation::GossipCore&, Context& context) {
  using Made = absl::StatusOr<std::optional<sharing::PreparedSum>>;
  auto made = std::make_shared<Made>(absl::CancelledError("not run"));
  auto took = std::make_shared<Duration>();  // without the wait for other work of the pool
  const absl::Status started = context.Offload(
      *options_.learning_pool,
      [contributor = options_.contributor, services = options_.learning,
       throttle = options_.throttle, plan = learner_.plan, work, clock = options_.clock, took,
       made]() mutable {
        const TimePoint begin = clock->Now();
        const ThrottledLearning throttled(throttle, &services);
        const sharing::ContributionRequest request{.plan = plan.get(),
                                                   .round = work.work.round,
                                                   .base = work.base.get(),
                                                   .tier = privacy::ConsentTier::kMasked,
                                                   .nodes = work.work.members,
                                                   .max_batch = work.work.max_batch};
        if (work.work.sum) {
          *made = contributor->MakeSum(services, request);
        } else if (const absl::Status checked = contributor->CheckLessons(services, request);
                   checked.ok()) {
          *made = std::nullopt;
        } else {
          *made = checked;
        }
        *took = clock->Now() - begin;
      },
      [this, work, took, made](Context&) {
        rounds_->EndSum(work, std::move(*made), *took);
        return absl::OkStatus();
      });
  if (!started.ok()) {
    LogFailure("the sum of a masked round was not begun", started);
    rounds_->EndSum(work, started, Duration::zero());
  }
}

void RoundLearning::Begin(const sharing::VerdictWork& work, federation::GossipCore& core,
                          Context& context) {
  using Made = absl::StatusOr<sharing::MeasuredVerdict>;
  auto made = std::make_shared<Made>(absl::UnknownError("not run"));
  const absl::Status started = context.Offload(
      *options_.learning_pool,
      [judge = learner_.judge, contributor = options_.contributor, services = options_.learning,
       throttle = options_.throttle, judged = work.judged, made]() mutable {
        const ThrottledLearning throttled(throttle, &services);
        const absl::Status allowed = contributor->CheckVerdict(services, *judged->plan);
        *made = allowed.ok() ? judge->Judge(services, *judged) : Made(allowed);
      },
      [this, &core, work, made](Context& own) {
        Follow(rounds_->EndVerdict(work, std::move(*made), core, Now()), core, own);
        return absl::OkStatus();
      });
  if (!started.ok()) {
    LogFailure("a verdict was not begun", started);
    Follow(rounds_->EndVerdict(work, started, core, Now()), core, context);
  }
}

void RoundLearning::Begin(const sharing::JudgementWork& work, federation::GossipCore&,
                          Context& context) {
  if (!Judge(work, context)) {
    rounds_->EndJudgement(work);
  }
}

absl::StatusOr<std::shared_ptr<const inference::Talora>> RoundLearning::Candidate() {
  federation::ClusterRounds& cluster = rounds_->cluster();
  const federation::GlobalState& state = cluster.StateBefore(cluster.now_round());
  if (state.last_part.empty()) {
    return nullptr;
  }
  return inference::TaloraOfCores(*learner_.frame, learner_.shape, state.values,
                                  std::string(kGlobalName), static_cast<uint32_t>(state.round));
}

bool RoundLearning::Judge(const sharing::JudgementWork& work, Context& context) {
  absl::StatusOr<std::shared_ptr<const inference::Talora>> candidate = Candidate();
  LogFailure("the global adapter cannot be made", candidate.status());
  if (!candidate.ok()) {
    return false;
  }
  federation::ClusterRounds& cluster = rounds_->cluster();
  std::string values;
  for (const std::vector<float>& bank : cluster.StateBefore(cluster.now_round()).values) {
    values.append(reinterpret_cast<const char*>(bank.data()), bank.size() * sizeof(float));
  }
  if (const Digest digest = Sha256(values); std::exchange(judged_, digest) == digest) {
    return false;  // the last rounds had no contributions
  }
  if (*candidate == nullptr) {
    Serve(nullptr);
    return false;
  }
  auto verdict =
      std::make_shared<absl::StatusOr<sharing::GlobalVerdict>>(absl::UnknownError("not run"));
  const absl::Status started = context.Offload(
      *options_.learning_pool,
      [gate = learner_.gate, services = options_.learning, throttle = options_.throttle,
       served = served_, candidate = *candidate, verdict]() mutable {
        const ThrottledLearning throttled(throttle, &services);
        *verdict = gate->Judge(services, served, candidate);
      },
      [this, candidate = *candidate, work, verdict](Context&) {
        if (rounds_->EndJudgement(work)) {
          EndJudgement(candidate, *verdict);
        }
        return absl::OkStatus();
      });
  if (!started.ok()) {
    judged_ = {};
    LogFailure("the judgement of a global adapter was not begun", started);
  }
  return started.ok();
}

void RoundLearning::EndJudgement(const std::shared_ptr<const inference::Talora>& candidate,
                                 const absl::StatusOr<sharing::GlobalVerdict>& verdict) {
  if (!verdict.ok()) {
    judged_ = {};  // tried again with the next round
    if (!absl::IsCancelled(verdict.status())) {
      LogFailure("the global adapter could not be judged", verdict.status());
    }
    return;
  }
  verdict_ = *verdict;
  LogInfo(
      "global adapter {}: {}; gain {:+.4f} on {} lessons (standard error {:.4f}), general text "
      "{:.4f} to {:.4f}",
      candidate->version, verdict->serve ? "served" : "held back", verdict->gain_over_none,
      verdict->lessons, verdict->standard_error_over_none, verdict->general_before,
      verdict->general_after);
  if (verdict->serve) {
    Serve(candidate);
  }
}

void RoundLearning::Serve(std::shared_ptr<const inference::Talora> adapter) {
  served_ = std::move(adapter);
  learner_.catalog->SetGlobal(served_);
}

}  // namespace ruvd::actors
