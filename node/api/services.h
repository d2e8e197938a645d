// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "node/transport/grpc_types.h"
#include "privacy/identity/node_key.h"

// The services are declared without the headers of the rooms that they call, because these take
// seconds to compile.
namespace ruvd {
class Clock;
class Executor;
namespace inference {
struct FrameSet;
class Model;
}  // namespace inference
namespace storage {
class ChangeStore;
class ConsentBook;
class Database;
class LessonStore;
class ObservedStore;
class PatternStore;
class SessionIndex;
class TrajectoryStore;
class WitnessLog;
}  // namespace storage
namespace serving {
class AdapterCatalog;
class ErasureFence;
class InferenceActor;
class InstantLoop;
}  // namespace serving
namespace learning {
class DeepActor;
class LearningActor;
class MemoryActor;
}  // namespace learning
namespace sharing {
class FederationActor;
}  // namespace sharing
namespace node::v1 {
class GetStatusResponse;
}  // namespace node::v1
}  // namespace ruvd

namespace ruvd::api {

class Callers;
class PatternFeed;

// The objects that the services call. All are borrowed and must outlive the server.
struct ServiceDependencies {
  const Clock* clock = nullptr;
  const inference::Model* model = nullptr;
  serving::InferenceActor* inference = nullptr;
  learning::LearningActor* learning = nullptr;
  learning::DeepActor* deep = nullptr;
  learning::MemoryActor* memory = nullptr;  // null: no lesson is remembered
  storage::PatternStore* patterns = nullptr;
  const inference::FrameSet* frame = nullptr;  // of adapters that are cores; null: none
  PatternFeed* pattern_feed = nullptr;
  Digest package_id{};  // of the embedding model
  privacy::NodeId self{};
  serving::AdapterCatalog* adapters = nullptr;
  bool paths_are_local = true;       // all callers are on this machine
  const Callers* callers = nullptr;  // null: callers show no key
  storage::WitnessLog* witness = nullptr;
  storage::Database* database = nullptr;
  storage::SessionIndex* sessions = nullptr;
  storage::TrajectoryStore* trajectories = nullptr;
  storage::LessonStore* lessons = nullptr;
  storage::ObservedStore* observed = nullptr;
  storage::ChangeStore* changes = nullptr;  // null: changes by learning are not listed
  serving::InstantLoop* instant = nullptr;  // null: sessions remember nothing
  serving::ErasureFence* fence = nullptr;   // null: running completions belong to no user
  float min_rating = 0.7F;                  // lowest rating at which a completion teaches
  std::string backup_dir;                   // BackUpStore creates folders here
  // Returns the embedding of a stored request's prompt, or an empty vector if the request is not
  // stored. Takes as long as a forward; called on `queries`. Null: no request is embedded later.
  std::function<std::vector<float>(const std::string& response_id)> embed_response = nullptr;
  Executor* queries = nullptr;        // runs calls that read much of the witness log
  Executor* pattern_calls = nullptr;  // runs calls that read or write patterns
  Executor* upkeep = nullptr;         // runs calls whose time grows with the store
  Executor* backups = nullptr;  // runs copies of the store, so that upkeep does not wait for them
  std::function<bool()> stopping = nullptr;  // ends a backup between two files; may be null
  sharing::FederationActor* federation = nullptr;
  storage::ConsentBook* consents = nullptr;
  // Fills the fields of GetStatus that the node itself knows.
  std::function<void(node::v1::GetStatusResponse*)> fill_status;
};

// Make the gRPC services of the client port, on the callback API: a method never blocks; it calls
// an actor and answers from the actor's callback.
std::unique_ptr<grpc::Service> MakeInferenceService(const ServiceDependencies& dependencies);
std::unique_ptr<grpc::Service> MakeLearningService(const ServiceDependencies& dependencies);
std::unique_ptr<grpc::Service> MakePatternService(const ServiceDependencies& dependencies);
std::unique_ptr<grpc::Service> MakeWitnessService(const ServiceDependencies& dependencies);
std::unique_ptr<grpc::Service> MakeNodeService(const ServiceDependencies& dependencies);
std::unique_ptr<grpc::Service> MakeStoreService(const ServiceDependencies& dependencies);
std::unique_ptr<grpc::Service> MakeClusterService(const ServiceDependencies& dependencies);
std::unique_ptr<grpc::Service> MakePrivacyService(const ServiceDependencies& dependencies);
std::unique_ptr<grpc::Service> MakeAdapterService(const ServiceDependencies& dependencies);

}  // namespace ruvd::api
