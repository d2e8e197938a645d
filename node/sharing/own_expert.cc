// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/own_expert.h"

#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"
#include "inference/adapter/talora_file.h"
#include "node/serving/served_adapters.h"
#include "node/sharing/shareable_lessons.h"
#include "privacy/reasons.h"

namespace ruvd::sharing {
namespace {

using Sources = std::map<std::string, privacy::Contributor>;

// Returns the lessons that may leave under `public`, with the people who gave them.
absl::StatusOr<Sources> LessonsThatMayLeave(const learning::LearningServices& services,
                                            float min_rating) {
  Sources sources;
  for (const LessonUse use : {LessonUse::kTraining, LessonUse::kJudging}) {
    ASSIGN_OR_RETURN(
        const ShareableLessons some,
        GatherShareableLessons(services, privacy::ConsentTier::kPublic, min_rating,
                               services.clock->WallMillis(), use, DisplacedSoon::kKept));
    for (const ShareableLesson& lesson : some.lessons) {
      sources.emplace(lesson.name, some.contributors.at(lesson.contributor));
    }
  }
  return sources;
}

absl::StatusOr<std::vector<privacy::Contributor>> ContributorsOf(
    const std::vector<std::string>& lessons, const Sources& may_leave) {
  std::set<privacy::Contributor> contributors;
  size_t kept_back = 0;
  for (const std::string& lesson : lessons) {
    const auto found = may_leave.find(lesson);
    if (found == may_leave.end()) {
      ++kept_back;
    } else {
      contributors.insert(found->second);
    }
  }
  if (kept_back > 0) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kConsentMissing,
                 "{} of the {} lessons in this node's adapter may not leave, or are gone from the "
                 "store; ask their users to allow it (`ruvd consent allow`), or unload the adapter "
                 "and run `ruvd learn run-deep` on the lessons that are there",
                 kept_back, lessons.size());
  }
  return std::vector<privacy::Contributor>(contributors.begin(), contributors.end());
}

}  // namespace

absl::StatusOr<OwnExpert> MakeOwnExpert(const learning::LearningServices& services,
                                        float min_rating) {
  const uint32_t version =
      services.catalog == nullptr ? 0 : serving::ServedDeepVersion(*services.catalog);
  if (version == 0) {
    return Error(
        absl::StatusCode::kNotFound, reasons::kNotFound,
        "this node serves no adapter that it learned; its deep rounds make one from enough "
        "good completions");
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> lessons,
                   services.catalog->LessonsOf(serving::kDeepAdapter, version));
  ASSIGN_OR_RETURN(const serving::CatalogEntry entry,
                   services.catalog->Find(serving::kDeepAdapter, version));
  if (lessons.empty() || !entry.adapter->words) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kConsentMissing,
                 "it is not known which lessons are in {}@{}, so it does not leave; unload it and "
                 "run `ruvd learn run-deep`",
                 serving::kDeepAdapter, version);
  }
  ASSIGN_OR_RETURN(const Sources may_leave, LessonsThatMayLeave(services, min_rating));
  OwnExpert own;
  ASSIGN_OR_RETURN(own.contributors, ContributorsOf(lessons, may_leave));
  own.expert.version = version;
  own.expert.lessons = static_cast<uint32_t>(lessons.size());
  own.expert.created_ms = services.clock->WallMillis();
  ASSIGN_OR_RETURN(own.expert.file,
                   inference::SerializeTaloraFile(*entry.adapter, services.transformer->model(),
                                                  inference::TensorType::kF16));
  const uint64_t most = limits::kMaxPayloadBytes - federation::kSharedExpertHeaderBytes;
  if (own.expert.file.size() > most) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "{}@{} takes {} bytes, but a payload has room for {}, so peers do not get it",
                 serving::kDeepAdapter, version, own.expert.file.size(), most);
  }
  return own;
}

}  // namespace ruvd::sharing
