// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// What the node learned itself: adapters in its store.

#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "inference/adapter/talora_file.h"
#include "node/limits.h"
#include "node/log/log.h"
#include "node/serving/adapter_catalog.h"
#include "ruvd/storage/v1/state.pb.h"

namespace ruvd::serving {

void AdapterCatalog::LoadLearned() {
  if (options_.state == nullptr) {
    return;
  }
  const auto names = options_.state->Names(storage::state::kLearnedAdapters);
  if (!names.ok()) {
    LogWarning("what this node learned cannot be listed and is left out: {} [{}]",
               MessageOf(names.status()), ReasonOf(names.status()));
    return;
  }
  for (const std::string& name : *names) {
    if (const absl::Status loaded = LoadLearnedValue(name); !loaded.ok()) {
      LogWarning("{} of the node's state is left out: {} [{}]", SanitizeForDisplay(name),
                 MessageOf(loaded), ReasonOf(loaded));
    }
  }
}

absl::Status AdapterCatalog::LoadLearnedValue(const std::string& name) {
  ASSIGN_OR_RETURN(const auto stored,
                   options_.state->Get(storage::StateName<storage::v1::LearnedAdapter>{name}));
  if (!stored) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(auto adapter, ParseTaloraFile(AsBytes(stored->file()), model_, name));
  if (storage::state::LearnedAdapter(adapter->name, adapter->version).text != name) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "it holds version {} of the adapter {}", adapter->version,
                 SanitizeForDisplay(adapter->name));
  }
  return Add(std::move(adapter), {.weight = 1, .origin = AdapterOrigin::kLearned}).status();
}

absl::StatusOr<std::shared_ptr<const inference::Talora>> AdapterCatalog::ReadLearned(
    const Key& key) const {
  ASSIGN_OR_RETURN(const auto stored,
                   options_.state->Get(storage::state::LearnedAdapter(key.first, key.second)));
  if (!stored) {
    return Error(absl::StatusCode::kNotFound, reasons::kNotFound,
                 "adapter {}@{} is not in the store any more; unload it",
                 SanitizeForDisplay(key.first), key.second);
  }
  return ParseTaloraFile(AsBytes(stored->file()), model_, key.first);
}

absl::StatusOr<CatalogEntry> AdapterCatalog::Publish(
    std::shared_ptr<const inference::Talora> adapter, float weight,
    std::span<const std::string> lessons) {
  if (options_.state == nullptr) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kInvalidArgument,
                 "this node has no store for what it learns; give it a data folder");
  }
  RETURN_IF_ERROR(CheckAdapterWeight(adapter->name, weight));
  ASSIGN_OR_RETURN(std::string file, inference::SerializeTaloraFile(*adapter, model_));
  // Serves what the file gives back, so that a version that is read again is the same: scales that
  // a single alpha cannot express are rounded into the factors.
  ASSIGN_OR_RETURN(adapter, ParseTaloraFile(AsBytes(file), model_, adapter->name));
  const Key key(adapter->name, adapter->version);
  RETURN_IF_ERROR(CheckRoom(key));
  const auto name = storage::state::LearnedAdapter(key.first, key.second);
  ASSIGN_OR_RETURN(const bool known, options_.state->Contains(name));
  storage::v1::LearnedAdapter stored;
  stored.set_file(std::move(file));
  if (lessons.size() <= limits::kMaxAdapterLessons) {
    stored.mutable_lessons()->Add(lessons.begin(), lessons.end());
  }
  RETURN_IF_ERROR(options_.state->Put(name, stored));
  auto added = Add(std::move(adapter), {.weight = weight, .origin = AdapterOrigin::kLearned});
  if (!added.ok() && !known) {
    if (const absl::Status removed = RemoveLearned(key); !removed.ok()) {
      LogWarning("adapter {}@{} was refused but cannot be deleted: {}",
                 SanitizeForDisplay(key.first), key.second, MessageOf(removed));
    }
  }
  return added;
}

absl::StatusOr<std::vector<std::string>> AdapterCatalog::LessonsOf(const std::string& name,
                                                                   uint32_t version) const {
  if (options_.state == nullptr) {
    return std::vector<std::string>();
  }
  ASSIGN_OR_RETURN(const auto stored,
                   options_.state->Get(storage::state::LearnedAdapter(name, version)));
  return stored ? std::vector<std::string>(stored->lessons().begin(), stored->lessons().end())
                : std::vector<std::string>();
}

absl::Status AdapterCatalog::RemoveLearned(const Key& key) {
  return options_.state->Delete(storage::state::LearnedAdapter(key.first, key.second));
}

}  // namespace ruvd::serving
