// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the node answers: its gRPC servers and what they say of its state.

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "node/api/server.h"
#include "node/api/services.h"
#include "node/limits.h"
#include "node/node_impl.h"
#include "node/node_metrics.h"
#include "node/version.h"
#include "storage/counters/store_life.h"

namespace ruvd {

absl::Status NodeImpl::StartServers() {
  if (config_.federation.enabled) {
    services_.push_back(MakeFederationService(*federation_));
    ASSIGN_OR_RETURN(RunningServer running,
                     StartServer(config_.federation.listen, limits::kMaxLinkMessageBytes,
                                 {services_.back().get()}));
    federation_server_ = std::move(running.server);
    federation_address_ = running.address;
  }
  ASSIGN_OR_RETURN(const uint64_t life, StoreLife(*database_));
  pattern_feed_ =
      std::make_unique<PatternFeed>(PatternFeed::Options{.patterns = patterns_.get(),
                                                         .executor = &pattern_pool_,
                                                         .max_streams = limits::kMaxPatternWatches,
                                                         .page = limits::kPatternWatchPage,
                                                         .log_id = life});
  ServiceDependencies dependencies;
  dependencies.clock = &clock_;
  dependencies.model = model_.get();
  dependencies.package_id = package_.id;
  dependencies.self = files_->key.id();
  dependencies.pattern_feed = pattern_feed_.get();
  dependencies.inference = inference_.get();
  dependencies.learning = learning_.get();
  dependencies.deep = deep_.get();
  dependencies.patterns = patterns_.get();
  dependencies.witness = witness_.get();
  dependencies.adapters = catalog_.get();
  dependencies.paths_are_local = !config_.api.allow_remote;
  dependencies.database = database_.get();
  dependencies.sessions = sessions_.get();
  dependencies.trajectories = trajectories_.get();
  dependencies.changes = changes_.get();
  dependencies.min_rating = config_.learning.min_rating;
  dependencies.instant = instant_.get();
  dependencies.fence = &fence_;
  dependencies.backup_dir = BackupDirOf(config_);
  dependencies.queries = &query_pool_;
  dependencies.pattern_calls = &pattern_pool_;
  dependencies.upkeep = &upkeep_pool_;
  dependencies.backups = &backup_pool_;
  dependencies.stopping = [this] { return stopping_.load(); };
  dependencies.federation = federation_.get();
  dependencies.consents = consents_.get();
  dependencies.fill_status = [this](NodeStatus* status) { FillStatus(status); };
  std::vector<grpc::Service*> api;
  for (auto make : {MakeInferenceService, MakeLearningService, MakePatternService,
                    MakeWitnessService, MakeAdminService, MakeAdapterService}) {
    services_.push_back(make(dependencies));
    api.push_back(services_.back().get());
  }
  ASSIGN_OR_RETURN(RunningServer running,
                   StartServer(config_.api.listen, limits::kMaxApiMessageBytes, api));
  api_server_ = std::move(running.server);
  api_address_ = running.address;
  return absl::OkStatus();
}

void NodeImpl::FillStatus(NodeStatus* status) const {
  status->node_id = id();
  status->name = config_.node.name;
  status->version = kVersion;
  status->state = stopping_.load() ? "draining" : "serving";
  status->model_name = model_->config().name;
  status->model_hash = ToHex(model_->hash());
  status->model_package = ToHex(package_.id);
  status->embedding_dimension = patterns_->dimension();
  const PatternStoreStats patterns = patterns_->Stats();
  status->patterns = patterns.patterns;
  status->patterns_capacity = patterns.capacity;
  status->patterns_pending = patterns.pending;
  status->patterns_problem = patterns.checkpoint.problem;
  status->trajectories = trajectories_->size();
  status->sessions = sessions_->size();
  const WitnessLogCounts witness = witness_->counts();
  status->witness_stored = witness.stored;
  status->witness_queued = witness.queued;
  status->witness_refused = witness.refused + witness.unfit;
  status->witness_crowded_out = witness.crowded_out;
  status->dead_letters = DeadLetterTotal(*actors_);
  status->storage_health = std::string(HealthName(database_->Health()));
  status->uptime_seconds = std::chrono::duration<double>(clock_.Now() - started_).count();
  status->requests_running = inference_->running();
}

}  // namespace ruvd
