// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Opens the node's files and stores.

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/status.h"
#include "node/limits.h"
#include "node/log/log.h"
#include "node/process/limits.h"
#include "node/process/node_impl.h"
#include "storage/witness/witness_archive_key.h"

namespace ruvd::node {

absl::Status NodeImpl::OpenStores() {
  ASSIGN_OR_RETURN(NodeFiles files, OpenNodeFiles(config_, clock_));
  files_ = std::make_unique<NodeFiles>(std::move(files));
  LoadFrame();
  ASSIGN_OR_RETURN(database_, OpenNodeStore(config_, *files_->seal_source, clock_));
  if (const size_t removed = storage::RemoveUnfinishedBackups(BackupDirOf(config_)); removed > 0) {
    LogWarning("{} incomplete backup(s) in {} were interrupted and are removed", removed,
               BackupDirOf(config_));
  }
  ASSIGN_OR_RETURN(trajectories_, storage::TrajectoryStore::Open(*database_, {}));
  ASSIGN_OR_RETURN(lessons_, storage::LessonStore::Open(*database_));
  observed_ = std::make_unique<storage::ObservedStore>(*database_);
  items_ = std::make_unique<storage::ItemStore>(*database_);
  state_ = std::make_unique<storage::StateStore>(*database_);
  if (const absl::Status removed = state_->RemoveUnfinished(); !removed.ok()) {
    LogWarning("interrupted writes of the node's state stay until the next start: {} [{}]",
               MessageOf(removed), ReasonOf(removed));
  }
  consent_ = std::make_unique<storage::ConsentStore>(*database_);
  withdrawal_ = std::make_unique<sharing::OperatorWithdrawal>(*consent_, files_->key, clock_);
  user_consents_ = std::make_unique<storage::UserConsentStore>(*database_);
  withdrawals_ = std::make_unique<storage::WithdrawalStore>(*database_);
  release_sources_ = std::make_unique<storage::ReleaseSourceStore>(*database_);
  ASSIGN_OR_RETURN(consents_, storage::ConsentBook::Open(*user_consents_, files_->key));
  counters_ = std::make_unique<storage::CounterStore>(*database_);
  storage::PatternStoreOptions patterns;
  patterns.dimension = static_cast<uint32_t>(model_->config().width);
  patterns.model_hash = package_.id;
  patterns.capacity = static_cast<size_t>(config_.storage.patterns);
  patterns.ef_construction = limits::kPatternLinkBreadth;
  ASSIGN_OR_RETURN(patterns_, storage::PatternStore::Open(*database_, patterns));
  inference::SelectionOptions selection;
  selection.threshold = RelatedSimilarity();
  serving::AdapterCatalogOptions catalog{.budget = config_.inference.adapter_bytes,
                                         .folder = AdapterDirOf(config_),
                                         .state = state_.get()};
  if (package_.memory != nullptr) {
    catalog.public_log_frequency = package_.memory->public_log_frequency;
  }
  catalog_ = std::make_unique<serving::AdapterCatalog>(*model_, std::move(catalog));
  RETURN_IF_ERROR(catalog_->LoadConfigured(config_.inference.adapters));
  catalog_->LoadImported();
  catalog_->LoadLearned();
  adapters_ = std::make_unique<serving::AdapterSource>(*patterns_, *model_, selection, *catalog_,
                                                       frame_.get());
  return OpenRecords();
}

// Makes the user's key ahead of time: storing a user's first value waits for an fsync of the key,
// and the inference thread must not wait. If this fails, storing the value reports why.
void NodeImpl::PrepareUserKey(const std::string& user_id) {
  pattern_pool_.Post([database = database_.get(), scope = storage::KeyScope::User(user_id)] {
    database->EnsureKey(scope).IgnoreError();
  });
}

absl::Status NodeImpl::OpenRecords() {
  ASSIGN_OR_RETURN(
      changes_,
      storage::ChangeStore::Open(
          *database_, {.image_scope = storage::KeyScope::Collection(patterns_->collection())}));
  ASSIGN_OR_RETURN(answers_, storage::FeedbackAnswerStore::Open(*database_));
  ASSIGN_OR_RETURN(graph_, storage::GraphStore::Open(*database_));
  storage::SessionIndexOptions sessions;
  sessions.dimension = static_cast<uint32_t>(model_->config().width);
  sessions.embedded_by = std::string(AsText(package_.id));
  sessions.idle_limit = std::chrono::hours(24) * config_.storage.session_days;
  sessions.on_removal = [this](const std::string& id) { pattern_graph_->RemoveSession(id); };
  ASSIGN_OR_RETURN(sessions_, storage::SessionIndex::Open(*database_, sessions));
  if (sessions_->undecodable() > 0) {
    LogWarning("{} conversations cannot be read and are left out; `ruvd store verify` names them",
               sessions_->undecodable());
  }
  pattern_graph_ = std::make_unique<serving::PatternGraph>(*graph_, *patterns_, *sessions_,
                                                           config_.experimental.graph);
  storage::WitnessLogOptions witness;
  witness.retention.retention = std::chrono::hours(24) * config_.storage.witness_days;
  witness.retention.capacity = static_cast<size_t>(config_.storage.witness_entries);
  witness.retention.archive_folder = config_.storage.witness_archive;
  if (!config_.storage.witness_archive.empty()) {
    ASSIGN_OR_RETURN(witness.retention.archive_key, storage::WitnessArchiveKey(*database_));
  }
  witness.retention.batch = limits::kWitnessExpiryPerTick;
  ASSIGN_OR_RETURN(witness_, storage::WitnessLog::Open(*database_, witness));
  return absl::OkStatus();
}

}  // namespace ruvd::node
