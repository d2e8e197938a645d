// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/local_contributor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/learner/privacy_plan.h"
#include "node/learning/text_lessons.h"
#include "node/log/log.h"
#include "node/reasons.h"
#include "node/sharing/core_lesson_trainer.h"
#include "node/sharing/lesson_trainer.h"
#include "privacy/dp/rdp_curve.h"
#include "privacy/ledger/ledger_entry.h"
#include "storage/consent/consent_book.h"

namespace ruvd::sharing {
namespace {

using federation::ContributionKind;
using federation::LearnerPlan;
using privacy::ConsentTier;
using privacy::PrivacyUnit;

constexpr int64_t kMillisPerSecond = 1000;

uint64_t SecondAt(int64_t created_ms) {
  return static_cast<uint64_t>(std::max<int64_t>(created_ms, 0) / kMillisPerSecond);
}

uint64_t JoinedAt(int64_t created_ms, PrivacyUnit unit) {
  return unit == PrivacyUnit::kLesson ? SecondAt(created_ms) : 0;
}

// A restarted node makes its delta of a round again, bit for bit if its lessons are the same.
uint64_t SeedOf(const Digest& origin, const LearnerPlan& plan, uint64_t round) {
  ByteWriter writer;
  writer.WriteBytes(origin).WriteBytes(plan.Id()).Write(round);
  const Digest hash = Sha256(writer.str());
  uint64_t seed = 0;
  std::memcpy(&seed, hash.data(), sizeof(seed));
  return seed;
}

absl::Status NotAlone() {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "under the tier masked only a share of a sum may leave, not a contribution of one "
               "node; make a sum of this node's lessons for a share");
}

// Adds lessons that pass a filter to the units of a plan.
class UnitCollector {
 public:
  UnitCollector(const ShareableLessons& lessons, PrivacyUnit unit)
      : lessons_(lessons), unit_(unit) {}

  void Add(const ShareableLesson& lesson) {
    contributors_.insert(lesson.contributor);
    const size_t unit = UnitOf(lesson);
    units_.resize(std::max(units_.size(), unit + 1));
    units_[unit].push_back(names_.size());
    names_.push_back(lesson.name);
  }

  std::vector<std::string> TakeNames() { return std::move(names_); }
  federation::LessonUnits TakeUnits() { return std::move(units_); }
  std::vector<privacy::Contributor> contributors() const {
    std::vector<privacy::Contributor> all;
    all.reserve(contributors_.size());
    for (const size_t place : contributors_) {
      all.push_back(lessons_.contributors[place]);
    }
    return all;
  }

 private:
  size_t UnitOf(const ShareableLesson& lesson) {
    switch (unit_) {
      case PrivacyUnit::kLesson:
        break;
      case PrivacyUnit::kUser:
        return users_.emplace(lessons_.contributors[lesson.contributor].user, units_.size())
            .first->second;
      case PrivacyUnit::kNode:
        return 0;
    }
    return units_.size();
  }

  const ShareableLessons& lessons_;
  const PrivacyUnit unit_;
  std::vector<std::string> names_;
  federation::LessonUnits units_;
  std::map<std::string, size_t> users_;
  std::set<size_t> contributors_;
};

// A damaged lesson adds nothing, as one that cannot be masked, and no coin of the sample depends on
// it. Otherwise one bad row would keep a node out of a round.
void LogDamaged(const StoredLessonTrainer& trainer) {
  if (trainer.damaged() > 0) {
    LogWarning("{} damaged lesson(s) add nothing to a round; `ruvd store verify` names their rows",
               trainer.damaged());
  }
}

}  // namespace

// The rate depends on the number of units in public steps only.
absl::StatusOr<LocalContributor::Sampling> LocalContributor::PlanNoised(
    const ContributionRequest& request, const ShareableLessons& lessons) const {
  const LearnerPlan& plan = *request.plan;
  ASSIGN_OR_RETURN(const double largest, LargestRate(plan, request.tier));
  Sampling sampling;
  ASSIGN_OR_RETURN(sampling.oldest_joined, OldestEligible(request, largest));
  if (plan.unit == PrivacyUnit::kNode && sampling.oldest_joined > 0) {
    return NodeRetired(request, largest);
  }
  const uint64_t now = LedgerRoundOf(plan, request.round);
  UnitCollector collector(lessons, plan.unit);
  for (const ShareableLesson& lesson : lessons.lessons) {
    // The ledger charges a round of users, or of the node, to the lessons that had come by its
    // begin, so no later lesson may be in it, whatever the unit is.
    if (JoinedAt(lesson.created_ms, plan.unit) < sampling.oldest_joined ||
        SecondAt(lesson.created_ms) > now) {
      continue;
    }
    collector.Add(lesson);
  }
  sampling.names = collector.TakeNames();
  sampling.units = collector.TakeUnits();
  sampling.contributors = collector.contributors();
  if (sampling.units.empty()) {
    return sampling;
  }
  const double units = static_cast<double>(federation::PublicUnits(sampling.units.size()));
  sampling.rate = std::min(largest, MaxBatch(request) / units);
  RETURN_IF_ERROR(CheckFits(request, sampling.rate, sampling.oldest_joined));
  RETURN_IF_ERROR(RequireSignal(request, sampling));
  return sampling;
}

absl::Status LocalContributor::RequireLearning(const learning::LearningServices& services) const {
  bool paused = false;
  if (services.changes != nullptr) {
    ASSIGN_OR_RETURN(paused, services.changes->IsPaused());
  }
  return options_.learns && !paused
             ? absl::OkStatus()
             : Error(absl::StatusCode::kFailedPrecondition, reasons::kLearningPaused,
                     "this node gives nothing to rounds, because learning is {}; {}",
                     options_.learns ? "paused" : "off",
                     options_.learns ? "run `ruvd learn resume`" : "set learning.enabled");
}

double LocalContributor::MaxBatch(const ContributionRequest& request) const {
  return static_cast<double>(request.max_batch == 0
                                 ? options_.max_batch
                                 : std::min(options_.max_batch, request.max_batch));
}

absl::Status LocalContributor::CheckVerdict(const learning::LearningServices& services,
                                            const LearnerPlan& plan) const {
  RETURN_IF_ERROR(Check(plan, ConsentTier::kPublic));
  return RequireLearning(services);
}

LocalContributor::Sampling LocalContributor::PlanOpen(const ContributionRequest& request,
                                                      const ShareableLessons& lessons) const {
  UnitCollector collector(lessons, request.plan->unit);
  for (const ShareableLesson& lesson : lessons.lessons) {
    collector.Add(lesson);
  }
  Sampling sampling{.names = collector.TakeNames(),
                    .units = collector.TakeUnits(),
                    .contributors = collector.contributors()};
  const double units = static_cast<double>(std::max<size_t>(sampling.units.size(), 1));
  sampling.rate = std::min(1.0, MaxBatch(request) / units);
  return sampling;
}

uint64_t LocalContributor::NewestCharged(const LearnerPlan& plan) const {
  return options_.ledger->counter().Of(plan.unit).newest_round;
}

absl::StatusOr<LessonSampling> LocalContributor::Plan(const learning::LearningServices& services,
                                                      const ContributionRequest& request) const {
  RETURN_IF_ERROR(Check(*request.plan, request.tier));
  if (request.tier == ConsentTier::kPrivate) {
    return LessonSampling();
  }
  RETURN_IF_ERROR(RequireLearning(services));
  if (request.tier != ConsentTier::kPublic) {
    RETURN_IF_ERROR(CheckNotCharged(*request.plan, request.round, NewestCharged(*request.plan),
                                    services.clock->WallMillis()));
  }
  ASSIGN_OR_RETURN(const ShareableLessons lessons,
                   GatherShareableLessons(services, request.tier, options_.min_rating,
                                          services.clock->WallMillis()));
  return request.tier == ConsentTier::kPublic
             ? absl::StatusOr<LessonSampling>(PlanOpen(request, lessons))
             : PlanNoised(request, lessons);
}

absl::StatusOr<std::optional<LocalContribution>> LocalContributor::Make(
    const learning::LearningServices& services, const ContributionRequest& request) const {
  if (request.tier == ConsentTier::kMasked) {
    return NotAlone();
  }
  ASSIGN_OR_RETURN(Sampling sampling, Plan(services, request));
  if (sampling.names.empty()) {
    return std::nullopt;
  }
  ASSIGN_OR_RETURN(LocalContribution made, request.plan->kind == ContributionKind::kDelta
                                               ? MakeDelta(services, request, sampling)
                                               : MakeGradient(services, request, sampling));
  made.lessons = sampling.names.size();
  made.contributors = std::move(sampling.contributors);
  return made;
}

// A damaged row no longer says whose lesson it is, so then all consents are looked at.
absl::Status LocalContributor::CheckUnchanged(const learning::LearningServices& services,
                                              const ContributionRequest& request,
                                              const Sampling& sampling) const {
  return CheckStillShareable(services, request.tier, options_.min_rating, sampling.names,
                             sampling.contributors);
}

absl::StatusOr<std::unique_ptr<StoredLessonTrainer>> LocalContributor::TrainerOf(
    const learning::LearningServices& services, const LearnerPlan& plan,
    const Sampling& sampling) const {
  return StoredLessonTrainer::Create({.services = &services,
                                      .frame = options_.frame.get(),
                                      .lessons = sampling.names,
                                      .min_rating = options_.min_rating,
                                      .memory_bytes = options_.memory_bytes},
                                     plan);
}

absl::StatusOr<LocalContribution> LocalContributor::MakeDelta(
    const learning::LearningServices& services, const ContributionRequest& request,
    const Sampling& sampling) const {
  const LearnerPlan& plan = *request.plan;
  ASSIGN_OR_RETURN(const std::unique_ptr<StoredLessonTrainer> trainer,
                   TrainerOf(services, plan, sampling));
  ASSIGN_OR_RETURN(federation::LocalDelta delta,
                   DeltaContribution(plan, request.round, *request.base, *trainer,
                                     SeedOf(services.origin, plan, request.round)));
  LogDamaged(*trainer);
  RETURN_IF_ERROR(CheckUnchanged(services, request, sampling));
  return LocalContribution{.contribution = std::move(delta.contribution),
                           .units = sampling.names.size(),
                           .loss = delta.loss,
                           .contributors = {}};
}

absl::StatusOr<privacy::UnitSum> LocalContributor::SumOf(const learning::LearningServices& services,
                                                         const ContributionRequest& request,
                                                         const Sampling& sampling) const {
  const LearnerPlan& plan = *request.plan;
  ASSIGN_OR_RETURN(const std::unique_ptr<StoredLessonTrainer> trainer,
                   TrainerOf(services, plan, sampling));
  ASSIGN_OR_RETURN(privacy::UnitSum sum, GradientSum(plan, *request.base, *trainer, sampling.units,
                                                     sampling.rate, options_.random));
  LogDamaged(*trainer);
  RETURN_IF_ERROR(CheckUnchanged(services, request, sampling));
  return sum;
}

absl::StatusOr<LocalContribution> LocalContributor::MakeGradient(
    const learning::LearningServices& services, const ContributionRequest& request,
    const Sampling& sampling) const {
  ASSIGN_OR_RETURN(privacy::UnitSum sum, SumOf(services, request, sampling));
  LocalContribution made{.contribution = {},
                         .units = sampling.units.size(),
                         .sampling_rate = sampling.rate,
                         .contributors = {}};
  std::vector<int32_t> units;
  auto noise = federation::Contribution::Noise::kNone;
  if (request.tier == ConsentTier::kDp) {
    ASSIGN_OR_RETURN(privacy::PreparedUnits paid,
                     Noise(services, request,
                           {.round = request.round, .sum = std::move(sum), .sampling = sampling}));
    made.reservation = paid.reservation;
    made.epsilon = paid.charge.epsilon;
    units = std::move(paid.units);
    noise = federation::Contribution::Noise::kWhole;
  } else {
    units = sum.Plain();
  }
  ASSIGN_OR_RETURN(made.contribution, GradientContribution(*request.plan, request.round,
                                                           *request.base, std::move(units), noise));
  return made;
}

absl::StatusOr<privacy::UnitReleaseTerms> LocalContributor::TermsOf(
    const ContributionRequest& request, const Sampling& sampling) const {
  const LearnerPlan& plan = *request.plan;
  ASSIGN_OR_RETURN(const privacy::UnitBudget budget,
                   privacy::BudgetOf(options_.budgets, plan.unit));
  return TermsOfRound(plan, request.round, sampling, budget, options_.scope);
}

absl::StatusOr<privacy::PreparedUnits> LocalContributor::Noise(
    const learning::LearningServices& services, const ContributionRequest& request,
    PreparedSum sum) const {
  ASSIGN_OR_RETURN(const privacy::UnitReleaseTerms terms, TermsOf(request, sum.sampling));
  const int64_t now_ms = services.clock->WallMillis();
  const privacy::ConsentRegister consents = services.consents->ForRelease(ConsentTier::kDp, now_ms);
  return PayForSum(*request.plan, std::move(sum), terms, NewestCharged(*request.plan),
                   {.policy = options_.policy,
                    .consents = consents,
                    .node_tier = request.tier,
                    .ledger = *options_.ledger,
                    .random = options_.random,
                    .now_ms = now_ms});
}

void LocalContributor::NoteSent(uint64_t reservation) const {
  if (reservation == 0) {
    return;
  }
  if (const absl::Status noted = options_.ledger->Release(reservation); !noted.ok()) {
    LogWarning("round {} was charged, but could not be marked as sent: {}", reservation,
               MessageOf(noted));
  }
}

}  // namespace ruvd::sharing
