// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/sessions/session_index.h"

#include <algorithm>
#include <mutex>
#include <tuple>

#include "base/reasons.h"
#include "base/status.h"
#include "base/steady_time.h"
#include "storage/db/row_key.h"
#include "storage/sessions/session_rows.h"
#include "storage/similarity/cosine.h"

namespace ruvd::storage {
namespace {

absl::Status NoSuchSession(std::string_view session_id) {
  return Error(absl::StatusCode::kNotFound, reasons::kNotFound,
               "there is no session {}; it may have expired; begin a new one",
               session_id.substr(0, limits::kMaxStoredSessionIdBytes));
}

bool Meets(const SessionFilter& filter, const SessionState& session) {
  return (filter.user_id.empty() || session.user_id == filter.user_id) &&
         (filter.adapter.empty() || session.active_adapter == filter.adapter);
}

void EraseFrom(StringMap<std::set<std::string>>* groups, const std::string& name,
               const std::string& session_id) {
  const auto group = groups->find(name);
  group->second.erase(session_id);
  if (group->second.empty()) {
    groups->erase(group);
  }
}

KeyScope ScopeOf(const SessionState& session) {
  return session.user_id ? KeyScope::User(*session.user_id) : KeyScope();
}

}  // namespace

absl::StatusOr<std::unique_ptr<SessionIndex>> SessionIndex::Open(
    Database& database, const SessionIndexOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<SimilarityIndex> contexts,
                   SimilarityIndex::Create(options.dimension));
  std::unique_ptr<SessionIndex> index(new SessionIndex(database, options, std::move(contexts)));
  const auto load = [&index](const RowView& row) -> absl::StatusOr<bool> {
    absl::StatusOr<SessionState> session = sessions::DecodeSession(row.value);
    if (!session.ok() || sessions::SessionKey(session->session_id) != row.key) {
      ++index->undecodable_;  // this costs one conversation, not the node
      return true;
    }
    if (index->Comparable(*session) && index->contexts_->Check(session->context_embedding).ok()) {
      RETURN_IF_ERROR(index->contexts_->Put(session->session_id, session->context_embedding));
    }
    index->Insert(std::make_shared<const SessionState>(*std::move(session)));
    return true;
  };
  const auto pass = [&index](std::string_view) -> absl::StatusOr<bool> {
    ++index->undecodable_;
    return true;
  };
  RETURN_IF_ERROR(database.Scan(ColumnFamily::kSession, sessions::kSessionPrefix,
                                EndOfPrefix(sessions::kSessionPrefix), load, pass));
  return index;
}

void SessionIndex::Insert(Shared session) {
  const std::string& id = session->session_id;
  by_idle_.emplace(session->last_active_ms, id);
  if (session->user_id) {
    by_user_[*session->user_id].insert(id);
  }
  if (session->active_adapter) {
    by_adapter_[*session->active_adapter].insert(id);
  }
  sessions_[id] = std::move(session);
}

void SessionIndex::Erase(const std::string& session_id) {
  const auto found = sessions_.find(session_id);
  if (found == sessions_.end()) {
    return;
  }
  const Shared session = found->second;
  sessions_.erase(found);
  by_idle_.erase({session->last_active_ms, session->session_id});
  if (session->user_id) {
    EraseFrom(&by_user_, *session->user_id, session->session_id);
  }
  if (session->active_adapter) {
    EraseFrom(&by_adapter_, *session->active_adapter, session->session_id);
  }
}

std::string SessionIndex::LongestIdle() const {
  return by_idle_.empty() ? "" : by_idle_.begin()->second;
}

int64_t SessionIndex::NewestActiveMs() const {
  const std::shared_lock lock(state_);
  return by_idle_.empty() ? 0 : by_idle_.rbegin()->first;
}

absl::StatusOr<std::shared_ptr<const SessionState>> SessionIndex::Get(
    std::string_view session_id) const {
  const std::shared_lock lock(state_);
  const auto found = sessions_.find(session_id);
  if (found == sessions_.end()) {
    return NoSuchSession(session_id);
  }
  return found->second;
}

void SessionIndex::NotifyRemoval(const std::string& session_id) const {
  if (options_.on_removal) {
    options_.on_removal(session_id);
  }
}

absl::Status SessionIndex::PutLocked(SessionState session) {
  RETURN_IF_ERROR(sessions::CheckSession(session));
  if (Comparable(session)) {
    RETURN_IF_ERROR(contexts_->Check(session.context_embedding));
  }
  std::string evicted;
  {
    const std::shared_lock lock(state_);
    if (!sessions_.contains(session.session_id) && sessions_.size() >= options_.capacity) {
      evicted = LongestIdle();
    }
  }
  Batch batch;
  batch.Put(ColumnFamily::kSession, sessions::SessionKey(session.session_id),
            sessions::EncodeSession(session), /*generation=*/0, ScopeOf(session));
  if (!evicted.empty()) {
    NotifyRemoval(evicted);
    batch.Delete(ColumnFamily::kSession, sessions::SessionKey(evicted));
  }
  RETURN_IF_ERROR(database_.Write(std::move(batch), Durability::kProcessCrash));
  const auto shared = std::make_shared<const SessionState>(std::move(session));
  {
    const std::unique_lock lock(state_);
    Erase(evicted);
    Erase(shared->session_id);
    Insert(shared);
  }
  contexts_->Remove(evicted);
  if (!Comparable(*shared)) {
    contexts_->Remove(shared->session_id);
    return absl::OkStatus();
  }
  return contexts_->Put(shared->session_id, shared->context_embedding);
}

absl::Status SessionIndex::Put(SessionState session) {
  const MutexLock writer(writer_);
  return PutLocked(std::move(session));
}

absl::Status SessionIndex::Update(std::string_view session_id, int64_t now_ms,
                                  const std::function<void(SessionState*)>& change) {
  const MutexLock writer(writer_);
  SessionState session{.session_id = std::string(session_id), .created_ms = now_ms};
  if (const auto known = Get(session_id); known.ok()) {
    session = **known;
  }
  change(&session);
  session.last_active_ms = MonotonicTimestamps(NewestActiveMs()).Next(session.last_active_ms);
  return PutLocked(std::move(session));
}

absl::Status SessionIndex::Remove(const std::vector<std::string>& ids) {
  if (ids.empty()) {
    return absl::OkStatus();
  }
  Batch batch;
  for (const std::string& id : ids) {
    NotifyRemoval(id);
    batch.Delete(ColumnFamily::kSession, sessions::SessionKey(id));
  }
  RETURN_IF_ERROR(database_.Write(std::move(batch), Durability::kProcessCrash));
  {
    const std::unique_lock lock(state_);
    for (const std::string& id : ids) {
      Erase(id);
    }
  }
  for (const std::string& id : ids) {
    contexts_->Remove(id);
  }
  return absl::OkStatus();
}

absl::Status SessionIndex::Delete(std::string_view session_id) {
  const MutexLock writer(writer_);
  RETURN_IF_ERROR(Get(session_id).status());
  return Remove({std::string(session_id)});
}

std::vector<std::shared_ptr<const SessionState>> SessionIndex::Find(const SessionFilter& filter,
                                                                    size_t limit) const {
  std::vector<Shared> found;
  const std::shared_lock lock(state_);
  const auto add_group = [&](const StringMap<std::set<std::string>>& groups,
                             const std::string& name) {
    if (const auto group = groups.find(name); group != groups.end()) {
      for (const std::string& id : group->second) {
        found.push_back(sessions_.find(id)->second);
      }
    }
  };
  if (!filter.user_id.empty()) {
    add_group(by_user_, filter.user_id);
  } else if (!filter.adapter.empty()) {
    add_group(by_adapter_, filter.adapter);
  } else {
    for (auto next = by_idle_.rbegin(); next != by_idle_.rend() && found.size() < limit; ++next) {
      found.push_back(sessions_.find(next->second)->second);
    }
    return found;
  }
  std::erase_if(found, [&filter](const Shared& session) { return !Meets(filter, *session); });
  std::sort(found.begin(), found.end(), [](const Shared& a, const Shared& b) {
    return std::tie(a->last_active_ms, a->session_id) > std::tie(b->last_active_ms, b->session_id);
  });
  found.resize(std::min(found.size(), limit));
  return found;
}

absl::StatusOr<std::vector<SessionHit>> SessionIndex::Search(std::span<const float> context,
                                                             size_t k,
                                                             const SessionFilter& filter) const {
  if (!filter.user_id.empty() || !filter.adapter.empty()) {
    return SearchAmong(context, k, Find(filter, options_.capacity));
  }
  ASSIGN_OR_RETURN(const std::vector<SimilarityHit> found, contexts_->Search(context, k));
  std::vector<SessionHit> hits;
  for (const SimilarityHit& hit : found) {
    if (auto session = Get(hit.id); session.ok()) {  // otherwise deleted meanwhile
      hits.push_back({*std::move(session), hit.similarity});
    }
  }
  return hits;
}

absl::StatusOr<std::vector<SessionHit>> SessionIndex::SearchAmong(
    std::span<const float> context, size_t k, const std::vector<Shared>& sessions) const {
  RETURN_IF_ERROR(contexts_->Check(context));
  if (k == 0 || k > limits::kMaxSearchHits) {  // the unfiltered search refuses it too
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a search cannot return {} sessions; ask for 1 to {}", k, limits::kMaxSearchHits);
  }
  std::vector<SessionHit> hits;
  for (const Shared& session : sessions) {
    const std::optional<float> similarity =
        Comparable(*session) && session->context_embedding.size() == context.size()
            ? CosineSimilarity(context, session->context_embedding)
            : std::nullopt;
    if (similarity) {
      hits.push_back({session, *similarity});
    }
  }
  std::stable_sort(hits.begin(), hits.end(), [](const SessionHit& a, const SessionHit& b) {
    return a.similarity > b.similarity;
  });
  hits.resize(std::min(hits.size(), k));
  return hits;
}

absl::StatusOr<size_t> SessionIndex::ExpireBatch(int64_t now_ms, size_t limit) {
  const MutexLock writer(writer_);
  const int64_t cutoff = now_ms - options_.idle_limit.count();
  std::vector<std::string> ids;
  {
    const std::shared_lock lock(state_);
    for (auto next = by_idle_.begin();
         next != by_idle_.end() && next->first < cutoff && ids.size() < limit; ++next) {
      ids.push_back(next->second);
    }
  }
  RETURN_IF_ERROR(Remove(ids));
  return ids.size();
}

absl::StatusOr<size_t> SessionIndex::ForgetUser(std::string_view user_id, size_t limit) {
  const MutexLock writer(writer_);
  std::vector<std::string> ids;
  for (const Shared& session : Find({.user_id = std::string(user_id)}, limit)) {
    ids.push_back(session->session_id);
  }
  RETURN_IF_ERROR(Remove(ids));
  return ids.size();
}

absl::StatusOr<size_t> SessionIndex::EraseUser(std::string_view user_id, size_t batch,
                                               const std::function<absl::Status()>& erase) {
  const auto forget = [&]() -> absl::StatusOr<size_t> {
    size_t sessions = 0;
    for (size_t forgotten = batch; forgotten == batch; sessions += forgotten) {
      ASSIGN_OR_RETURN(forgotten, ForgetUser(user_id, batch));
    }
    return sessions;
  };
  // This comes first: a turn that ends while the keys are destroyed would write the whole session
  // again with a new key.
  ASSIGN_OR_RETURN(const size_t sessions, forget());
  RETURN_IF_ERROR(erase());
  // Sessions may have begun in between, and their rows may be unreadable by now.
  RETURN_IF_ERROR(forget().status());
  return sessions;
}

size_t SessionIndex::size() const {
  const std::shared_lock lock(state_);
  return sessions_.size();
}

}  // namespace ruvd::storage
