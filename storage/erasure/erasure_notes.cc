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

// Adds a note in place of an older one of its scope.
void Add(const v1::ErasureNotes::Erased& note, v1::ErasureNotes* notes) {
  auto& erased = *notes->mutable_erased();
  const auto known =
      std::ranges::find(erased, note.scope_hash(), &v1::ErasureNotes::Erased::scope_hash);
  if (known != erased.end()) {
    erased.erase(known);
  } else if (erased.size() >= kMaxNotes) {
    erased.erase(erased.begin());
  }
  *erased.Add() = note;
}

}  // namespace

absl::Status NoteErasure(Database& database, const KeyScope& scope) {
  static Mutex mutex;  // held from the reading of the notes to their writing
  const MutexLock lock(mutex);
  ASSIGN_OR_RETURN(v1::ErasureNotes notes, NotesOf(database));
  v1::ErasureNotes::Erased erased;
  erased.set_scope_hash(HashOf(database, scope.name()));
  erased.set_erased_ms(database.clock().WallMillis());
  Add(erased, &notes);
  return StateStore(database).Put(state::Erasures(), notes);
}

absl::StatusOr<size_t> CarryErasures(Database& present, Database& restored) {
  ASSIGN_OR_RETURN(v1::ErasureNotes notes, NotesOf(present));
  if (notes.erased().empty()) {
    return 0;
  }
  std::map<std::string, int64_t> erased_ms;  // by the hash of the scope
  for (const v1::ErasureNotes::Erased& erased : notes.erased()) {
    erased_ms[erased.scope_hash()] = erased.erased_ms();
  }
  size_t scopes = 0;
  for (const DataKeyInfo& key : restored.DataKeys()) {
    if (key.state != DataKeyInfo::State::kActive || !IsUserScope(key.scope)) {
      continue;
    }
    const auto found = erased_ms.find(HashOf(restored, key.scope));
    if (found != erased_ms.end() && key.created_ms <= found->second) {
      RETURN_IF_ERROR(restored.Erase(KeyScope::User(key.scope.substr(sizeof kUserScopes - 1))));
      ++scopes;
    }
  }
  ASSIGN_OR_RETURN(const v1::ErasureNotes own, NotesOf(restored));
  for (const v1::ErasureNotes::Erased& erased : own.erased()) {
    const auto found = erased_ms.find(erased.scope_hash());
    if (found == erased_ms.end() || found->second < erased.erased_ms()) {
      Add(erased, &notes);
    }
  }
  RETURN_IF_ERROR(StateStore(restored).Put(state::Erasures(), notes));
  return scopes;
}

}  // namespace ruvd::storage
