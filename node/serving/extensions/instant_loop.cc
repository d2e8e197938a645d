// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/extensions/instant_loop.h"

#include <algorithm>
#include <cmath>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/instant/lessons.h"

namespace ruvd::serving {
namespace {

// The effect of one feedback on a pattern's weight, bounded like GraphStore::Nudge bounds an edge.
constexpr float kNudge = 0.05F;
constexpr float kMinWeight = 0.5F;
constexpr float kMostWeight = 2.0F;

size_t BytesOf(const std::shared_ptr<const inference::InstantMemory>& memory) {
  return memory == nullptr ? 0 : memory->bytes();
}

void AdjustWeight(float direction, float* weight) {
  *weight = std::clamp(*weight * (1 + kNudge * direction), kMinWeight, kMostWeight);
}

absl::Status NotHeld(const std::string& response_id) {
  return Error(absl::StatusCode::kNotFound, reasons::kUnknownResponse,
               "the node no longer holds the commits of response {}, so its session learns nothing "
               "from it; send feedback sooner, or a session_id with the request",
               response_id);
}

}  // namespace

InstantLoop::Session& InstantLoop::Use(const InstantSession& session) {
  const auto [found, fresh] = sessions_.try_emplace(session);
  if (fresh) {
    found->second.order = by_use_.insert(by_use_.end(), session);
  } else {
    by_use_.splice(by_use_.end(), by_use_, found->second.order);
  }
  found->second.used = options_.clock->Now();
  return found->second;
}

std::shared_ptr<const inference::InstantMemory> InstantLoop::MemoryOf(
    const InstantSession& session) {
  const MutexLock lock(mutex_);
  DropIdle();
  return sessions_.contains(session) ? Use(session).memory : nullptr;
}

void InstantLoop::StoreTrail(const std::string& response_id, InstantTrail trail) {
  if (trail.session.session_id.empty() || trail.commits.empty()) {
    return;
  }
  const MutexLock lock(mutex_);
  if (forgotten_.IsErased(trail.session.user_id, trail.admitted)) {
    return;
  }
  DropTrail(response_id);
  trail_bytes_ += trail.commits.bytes();
  trails_[response_id] = {.trail = std::move(trail),
                          .ended = options_.clock->Now(),
                          .order = by_age_.insert(by_age_.end(), response_id)};
  MakeRoom();
}

absl::StatusOr<InstantLoop::StoredTrail*> InstantLoop::FindTrail(const std::string& response_id) {
  DropIdle();
  const auto found = trails_.find(response_id);
  if (found == trails_.end()) {
    return NotHeld(response_id);
  }
  return &found->second;
}

absl::StatusOr<size_t> InstantLoop::LearnReward(const std::string& response_id, float reward) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(const StoredTrail* kept, FindTrail(response_id));
  const std::vector<inference::CommittedPosition> positions = kept->trail.commits.Positions();
  const float direction = reward >= inference::kTeachingReward    ? 1.0F
                          : reward <= inference::kRejectingReward ? -1.0F
                                                                  : 0;
  return Learn(response_id, *kept, inference::LessonsOfReward(positions, reward), direction);
}

absl::StatusOr<size_t> InstantLoop::LearnEdit(const std::string& response_id,
                                              std::span<const inference::TokenId> edited) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(const StoredTrail* kept, FindTrail(response_id));
  std::vector<inference::CommittedPosition> positions = kept->trail.commits.Positions();
  std::erase_if(positions, [kept](const inference::CommittedPosition& committed) {
    return committed.position == kept->trail.end_position;
  });
  // A correction says nothing in favour of the patterns that served the response.
  return Learn(response_id, *kept, inference::LessonsOfEdit(positions, edited), 0);
}

size_t InstantLoop::Learn(const std::string& response_id, const StoredTrail& kept,
                          std::span<const inference::InstantLesson> lessons, float direction) {
  Session& session = Use(kept.trail.session);
  Vote(&session, {response_id, direction, kept.trail.patterns});
  memory_bytes_ -= BytesOf(session.memory);
  if (session.memory == nullptr) {
    session.memory = std::make_shared<const inference::InstantMemory>(options_.memory);
  }
  session.memory = lessons.empty()
                       ? session.memory->Without(response_id)
                       : session.memory->With(inference::InstantStep::Make(
                             response_id, kept.trail.commits.width(), lessons, options_.step));
  memory_bytes_ += BytesOf(session.memory);
  MakeRoom();
  return lessons.size();
}

absl::Status InstantLoop::Undo(const std::string& response_id) {
  const MutexLock lock(mutex_);
  for (auto& [id, session] : sessions_) {
    const bool voted = RevertVote(&session, response_id);
    if (session.memory != nullptr && session.memory->Has(response_id)) {
      memory_bytes_ -= BytesOf(session.memory);
      session.memory = session.memory->Without(response_id);
      memory_bytes_ += BytesOf(session.memory);
      return absl::OkStatus();
    }
    if (voted) {
      return absl::OkStatus();
    }
  }
  return NotHeld(response_id);
}

bool InstantLoop::HasLessonsOf(const InstantSession& session, const std::string& response_id) {
  const MutexLock lock(mutex_);
  DropIdle();
  const auto found = sessions_.find(session);
  return found != sessions_.end() &&
         ((found->second.memory != nullptr && found->second.memory->Has(response_id)) ||
          std::ranges::find(found->second.votes, response_id, &PatternVote::response_id) !=
              found->second.votes.end());
}

float InstantLoop::PatternFactor(const InstantSession& session, const std::string& pattern_id) {
  constexpr float kRoot = 0.25F;
  const MutexLock lock(mutex_);
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) {
    return 1;
  }
  const auto settled = found->second.settled_weights.find(pattern_id);
  float weight = settled == found->second.settled_weights.end() ? 1.0F : settled->second;
  for (const PatternVote& vote : found->second.votes) {
    if (std::ranges::find(vote.patterns, pattern_id) != vote.patterns.end()) {
      AdjustWeight(vote.direction, &weight);
    }
  }
  return std::pow(weight, kRoot);
}

void InstantLoop::Vote(Session* session, PatternVote vote) {
  RevertVote(session, vote.response_id);
  if (vote.direction == 0 || vote.patterns.empty()) {
    return;
  }
  session->votes.push_back(std::move(vote));
  if (session->votes.size() > limits::kMaxPatternVotes) {
    const PatternVote& oldest = session->votes.front();
    for (const std::string& pattern : oldest.patterns) {
      AdjustWeight(oldest.direction,
                   &session->settled_weights.try_emplace(pattern, 1.0F).first->second);
    }
    session->votes.pop_front();
  }
}

bool InstantLoop::RevertVote(Session* session, const std::string& response_id) {
  return std::erase_if(session->votes, [&response_id](const PatternVote& vote) {
           return vote.response_id == response_id;
         }) > 0;
}

void InstantLoop::ForgetUser(std::string_view user_id) {
  const MutexLock lock(mutex_);
  forgotten_.Add(user_id, options_.clock->Now());
  std::vector<InstantSession> sessions;
  for (const auto& [id, session] : sessions_) {
    if (id.user_id == user_id) {
      sessions.push_back(id);
    }
  }
  for (const InstantSession& session : sessions) {
    DropSession(session);
  }
  std::vector<std::string> responses;
  for (const auto& [response_id, kept] : trails_) {
    if (kept.trail.session.user_id == user_id) {
      responses.push_back(response_id);
    }
  }
  for (const std::string& response_id : responses) {
    DropTrail(response_id);
  }
}

InstantStatus InstantLoop::status() {
  const MutexLock lock(mutex_);
  DropIdle();
  InstantStatus status{.sessions = sessions_.size(),
                       .trails = trails_.size(),
                       .bytes = trail_bytes_ + memory_bytes_};
  for (const auto& [id, session] : sessions_) {
    status.positions += session.memory == nullptr ? 0 : session.memory->positions();
  }
  return status;
}

void InstantLoop::DropTrail(const std::string& response_id) {
  const auto found = trails_.find(response_id);
  if (found != trails_.end()) {
    trail_bytes_ -= found->second.trail.commits.bytes();
    by_age_.erase(found->second.order);
    trails_.erase(found);
  }
}

void InstantLoop::DropSession(const InstantSession& session) {
  const auto found = sessions_.find(session);
  if (found != sessions_.end()) {
    memory_bytes_ -= BytesOf(found->second.memory);
    by_use_.erase(found->second.order);
    sessions_.erase(found);
  }
}

void InstantLoop::DropIdle() {
  const TimePoint now = options_.clock->Now();
  while (!by_use_.empty() && now - sessions_.at(by_use_.front()).used > options_.idle_limit) {
    const InstantSession idle = by_use_.front();
    DropSession(idle);
  }
  while (!by_age_.empty() && now - trails_.at(by_age_.front()).ended > options_.idle_limit) {
    const std::string oldest = by_age_.front();
    DropTrail(oldest);
  }
}

void InstantLoop::MakeRoom() {
  DropIdle();
  while (trails_.size() > options_.max_trails) {
    const std::string oldest = by_age_.front();
    DropTrail(oldest);
  }
  while (trail_bytes_ + memory_bytes_ > options_.max_bytes) {
    if (trail_bytes_ > memory_bytes_) {  // the larger part gives way
      const std::string oldest = by_age_.front();
      DropTrail(oldest);
    } else {
      const InstantSession longest = by_use_.front();
      DropSession(longest);
    }
  }
}

}  // namespace ruvd::serving
