// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/erasure/erasure_notes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/mutex.h"
#include "base/status.h"
#include "ruvd/storage/v1/state.pb.h"
#include "storage/state/state_store.h"

namespace ruvd::storage {
namespace {

constexpr size_t kHashBytes = 16;
// 320 KB: far more users than a small cluster erases while a backup is worth restoring.
constexpr int kMaxNotes = 10'000;

std::string HashOf(const Database& database, std::string_view scope) {
  const Digest digest = Sha256({AsBytes(database.store_id()), AsBytes(scope)});
  return std::string(AsText(digest).substr(0, kHashBytes));
}

absl::StatusOr<v1::ErasureNotes> NotesOf(Database& database) {
  ASSIGN_OR_RETURN(auto notes, StateStore(database).Get(state::Erasures()));
  return std::move(notes).value_or(v1::ErasureNotes());
}

}  // namespace

absl::Status NoteErasure(Database& database, const KeyScope& scope) {
  uint64_t newest = 0;
  for (const DataKeyInfo& key : database.DataKeys()) {
    newest = key.scope == scope.name() ? std::max(newest, key.id) : newest;
  }
  if (newest == 0) {
    return absl::OkStatus();  // the scope never had a key
  }
  static Mutex mutex;  // held from the reading of the notes to their writing
  const MutexLock lock(mutex);
  ASSIGN_OR_RETURN(v1::ErasureNotes notes, NotesOf(database));
  const std::string hash = HashOf(database, scope.name());
  auto& erased = *notes.mutable_erased();
  const auto known = std::ranges::find(erased, hash, &v1::ErasureNotes::Erased::scope_hash);
  if (known != erased.end()) {
    erased.erase(known);
  } else if (erased.size() >= kMaxNotes) {
    erased.erase(erased.begin());
  }
  auto* const added = erased.Add();
  added->set_scope_hash(hash);
  added->set_newest_key(newest);
  return StateStore(database).Put(state::Erasures(), notes);
}

absl::StatusOr<size_t> CarryErasures(Database& present, Database& restored) {
  ASSIGN_OR_RETURN(const v1::ErasureNotes notes, NotesOf(present));
  if (notes.erased().empty()) {
    return 0;
  }
  std::map<std::string, uint64_t> destroyed;  // the newest key, by the hash of its scope
  for (const v1::ErasureNotes::Erased& erased : notes.erased()) {
    destroyed[erased.scope_hash()] = erased.newest_key();
  }
  size_t scopes = 0;
  for (const DataKeyInfo& key : restored.DataKeys()) {
    if (key.state != DataKeyInfo::State::kActive || !IsUserScope(key.scope)) {
      continue;
    }
    const auto found = destroyed.find(HashOf(restored, key.scope));
    if (found != destroyed.end() && key.id <= found->second) {
      RETURN_IF_ERROR(restored.Erase(KeyScope::User(key.scope.substr(sizeof kUserScopes - 1))));
      ++scopes;
    }
  }
  RETURN_IF_ERROR(StateStore(restored).Put(state::Erasures(), notes));
  return scopes;
}

}  // namespace ruvd::storage
