// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "base/executor.h"
#include "inference/model/model.h"
#include "node/api/node_status.h"
#include "node/api/pattern_feed.h"
#include "node/learning/deep.h"
#include "node/learning/learning.h"
#include "node/serving/adapter_catalog.h"
#include "node/serving/erasure_fence.h"
#include "node/serving/inference.h"
#include "node/serving/instant_loop.h"
#include "node/sharing/federation.h"
#include "privacy/identity/node_key.h"
#include "storage/changes/change_store.h"
#include "storage/consent/consent_book.h"
#include "storage/db/database.h"
#include "storage/patterns/pattern_store.h"
#include "storage/sessions/session_index.h"
#include "storage/trajectories/trajectory_store.h"
#include "storage/witness/witness_log.h"

namespace ruvd::api {

// What the services call. All borrowed; they outlive the server.
struct ServiceDependencies {
  const Clock* clock = nullptr;
  const inference::Model* model = nullptr;
  serving::InferenceActor* inference = nullptr;
  learning::LearningActor* learning = nullptr;
  learning::DeepActor* deep = nullptr;
  storage::PatternStore* patterns = nullptr;
  PatternFeed* pattern_feed = nullptr;
  Digest package_id{};  // of the model that embeds
  privacy::NodeId self{};
  serving::AdapterCatalog* adapters = nullptr;
  bool paths_are_local = true;  // no caller is on another machine
  storage::WitnessLog* witness = nullptr;
  storage::Database* database = nullptr;
  storage::SessionIndex* sessions = nullptr;
  storage::TrajectoryStore* trajectories = nullptr;
  storage::ChangeStore* changes = nullptr;  // null: what learning changes is not listed
  serving::InstantLoop* instant = nullptr;  // null: sessions remember nothing
  serving::ErasureFence* fence = nullptr;   // null: completions under way are nobody's
  float min_rating = 0.7F;                  // at which a completion teaches
  std::string backup_dir;                   // where BackUpStore makes folders
  Executor* queries = nullptr;              // of calls that read much of the witness log
  Executor* pattern_calls = nullptr;        // of calls that read or write patterns
  Executor* upkeep = nullptr;               // of calls that take as long as the store is large
  Executor* backups = nullptr;              // of copies of the store; upkeep does not wait for them
  std::function<bool()> stopping = nullptr;  // ends a backup between two files; may be null
  sharing::FederationActor* federation = nullptr;
  storage::ConsentBook* consents = nullptr;
  // The facts of GetStatus that the node itself knows.
  std::function<void(NodeStatus*)> fill_status;
};

// The gRPC services of the client port, on the callback API: a method never blocks, it translates
// to a call of an actor and answers from its callback.
std::unique_ptr<grpc::Service> MakeInferenceService(const ServiceDependencies& dependencies);
std::unique_ptr<grpc::Service> MakeLearningService(const ServiceDependencies& dependencies);
std::unique_ptr<grpc::Service> MakePatternService(const ServiceDependencies& dependencies);
std::unique_ptr<grpc::Service> MakeWitnessService(const ServiceDependencies& dependencies);
std::unique_ptr<grpc::Service> MakeAdminService(const ServiceDependencies& dependencies);
std::unique_ptr<grpc::Service> MakeAdapterService(const ServiceDependencies& dependencies);

}  // namespace ruvd::api
