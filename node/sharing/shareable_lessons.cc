// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/shareable_lessons.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "node/learning/evaluation_lessons.h"
#include "node/learning/lesson_clusters.h"
#include "node/learning/text_lessons.h"
#include "storage/consent/consent_book.h"
#include "storage/lessons/lesson_store.h"
#include "storage/reasons.h"

namespace ruvd::sharing {
namespace {

// Texts that are opened between two looks at whether serving needs the processor
constexpr size_t kTextsAtOnce = 256;

class Gatherer {
 public:
  Gatherer(const learning::LearningServices& services, privacy::ConsentTier tier, int64_t now_ms,
           LessonUse use, DisplacedSoon displaced)
      : services_(services), tier_(tier), now_ms_(now_ms), use_(use), displaced_(displaced) {}

  absl::Status AddCompletions(float min_rating) {
    const storage::TrajectoryStore& store = *services_.trajectories;
    std::vector<size_t> places;  // of the completions, among the requests with feedback
    size_t place = 0;
    RETURN_IF_ERROR(store.ForEachSince(0, [&](const storage::Trajectory& trajectory) {
      if (!storage::HasFeedback(trajectory)) {
        return CheckCancelled(services_).ok();
      }
      if (MayTeach(trajectory, min_rating) && Add(trajectory.response_id, trajectory)) {
        places.push_back(place);
      }
      ++place;
      return CheckCancelled(services_).ok();
    }));
    RETURN_IF_ERROR(CheckCancelled(services_));
    if (displaced_ == DisplacedSoon::kLeftOut) {
      const size_t margin = store.feedback_capacity() / 2;
      const auto old =
          std::ranges::find_if(places, [&](size_t at) { return at + margin >= place; });
      found_.lessons.erase(found_.lessons.begin(), found_.lessons.begin() + (old - places.begin()));
    }
    return absl::OkStatus();
  }

  absl::Status AddTexts() {
    storage::LessonQuery query{.most = kTextsAtOnce};
    for (std::optional<uint64_t> next = 0; services_.lessons != nullptr && next;) {
      query.from = *next;
      ASSIGN_OR_RETURN(const storage::LessonPage page, services_.lessons->List(query));
      for (const storage::StoredLesson& text : page.lessons) {
        AddText(text);
      }
      RETURN_IF_ERROR(YieldBetweenPieces(services_));
      next = page.next;
    }
    return absl::OkStatus();
  }

  ShareableLessons Take() { return std::move(found_); }

 private:
  bool HasUse(std::string_view name) const {
    return learning::IsEvaluationLesson(name) == (use_ == LessonUse::kJudging);
  }
  bool MayTeach(const storage::Trajectory& trajectory, float min_rating) const {
    const bool consults_patterns = tier_ == privacy::ConsentTier::kPublic;
    return HasUse(trajectory.response_id) &&
           !learning::TargetText(trajectory, min_rating).empty() &&
           !(consults_patterns && IsExcludedFromLearning(services_, trajectory));
  }

  void AddText(const storage::StoredLesson& text) {
    const std::string name = learning::NameOfTextLesson(text.id);
    if (!HasUse(name)) {
      return;
    }
    // Tiers are numbered from the strictest to the loosest; 0 leaves it to the consents.
    if (text.tier != 0 && text.tier < static_cast<uint32_t>(tier_)) {
      ++found_.left_out;
      return;
    }
    storage::Trajectory owner;
    owner.user_id = text.user_id;
    owner.created_ms = text.created_ms;
    Add(name, owner);
  }

  // Adds a lesson of the user and time of `trajectory`. False if the user does not allow it.
  bool Add(const std::string& name, const storage::Trajectory& trajectory) {
    const storage::ConsentBook* const book = services_.consents;
    const privacy::Contributor whose =
        book == nullptr ? privacy::Contributor() : book->ContributorOf(trajectory);
    auto known = contributors_.find(whose);
    if (known == contributors_.end()) {
      const bool allowed = book == nullptr ? tier_ == privacy::ConsentTier::kPublic
                                           : book->MayShare({&whose, 1}, tier_, now_ms_);
      known = contributors_.emplace(whose, Whose{.allowed = allowed, .place = std::nullopt}).first;
    }
    if (!known->second.allowed) {
      ++found_.left_out;
      return false;
    }
    if (!known->second.place) {
      known->second.place = found_.contributors.size();
      found_.contributors.push_back(whose);
    }
    found_.lessons.push_back(
        {.name = name, .contributor = *known->second.place, .created_ms = trajectory.created_ms});
    return true;
  }

  struct Whose {
    bool allowed = false;
    std::optional<size_t> place;  // in the result
  };
  const learning::LearningServices& services_;
  const privacy::ConsentTier tier_;
  const int64_t now_ms_;
  const LessonUse use_;
  const DisplacedSoon displaced_;
  std::map<privacy::Contributor, Whose> contributors_;
  ShareableLessons found_;
};

absl::Status Changed() {
  return Error(absl::StatusCode::kAborted, reasons::kChanged,
               "a lesson or a consent was withdrawn, or a lesson displaced, while a round was "
               "computed, so nothing is offered in this round; the next one is made without it");
}

}  // namespace

absl::StatusOr<ShareableLessons> GatherShareableLessons(const learning::LearningServices& services,
                                                        privacy::ConsentTier tier, float min_rating,
                                                        int64_t now_ms, LessonUse use,
                                                        DisplacedSoon displaced) {
  Gatherer gatherer(services, tier, now_ms, use, displaced);
  if (tier == privacy::ConsentTier::kPrivate) {
    return gatherer.Take();
  }
  RETURN_IF_ERROR(gatherer.AddCompletions(min_rating));
  RETURN_IF_ERROR(gatherer.AddTexts());
  return gatherer.Take();
}

absl::Status CheckStillShareable(const learning::LearningServices& services,
                                 privacy::ConsentTier tier, float min_rating,
                                 std::span<const std::string> names,
                                 std::span<const privacy::Contributor> contributors,
                                 LessonUse use) {
  const int64_t now_ms = services.clock->WallMillis();
  ASSIGN_OR_RETURN(
      const ShareableLessons now,
      GatherShareableLessons(services, tier, min_rating, now_ms, use, DisplacedSoon::kKept));
  std::set<std::string_view> held;
  for (const ShareableLesson& lesson : now.lessons) {
    held.insert(lesson.name);
  }
  size_t damaged = 0;
  for (const std::string& name : names) {
    if (held.contains(name)) {
      continue;
    }
    if (!learning::IsDamaged(services, name)) {
      return Changed();
    }
    ++damaged;
  }
  const bool allowed = damaged == 0 || services.consents == nullptr ||
                       services.consents->MayShare(contributors, tier, now_ms);
  return allowed ? absl::OkStatus() : Changed();
}

}  // namespace ruvd::sharing
