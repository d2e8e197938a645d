// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/node.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/impl/service_type.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "inference/adapter/bank.h"
#include "inference/adapter/frame.h"
#include "inference/backend/backend.h"
#include "inference/kernels/kernel_table.h"
#include "inference/model/model.h"
#include "inference/model/transformer.h"
#include "inference/package/model_package.h"
#include "node/actor/actor_system.h"
#include "node/actors/adapter_catalog.h"
#include "node/actors/adapter_source.h"
#include "node/actors/deep_actor.h"
#include "node/actors/federation_actor.h"
#include "node/actors/general_text_gate.h"
#include "node/actors/inference_actor.h"
#include "node/actors/instant_loop.h"
#include "node/actors/learning_actor.h"
#include "node/actors/learning_throttle.h"
#include "node/actors/maintenance_actor.h"
#include "node/actors/witness_actor.h"
#include "node/api/link.h"
#include "node/api/pattern_feed.h"
#include "node/api/server.h"
#include "node/api/services.h"
#include "node/cli/identity.h"
#include "node/learning_options.h"
#include "node/limits.h"
#include "node/metrics/metrics.h"
#include "node/node_files.h"
#include "node/node_metrics.h"
#include "node/status.h"
#include "node/version.h"
#include "storage/changes/answer_store.h"
#include "storage/changes/change_store.h"
#include "storage/consent/consent_store.h"
#include "storage/counters/counter_store.h"
#include "storage/counters/store_life.h"
#include "storage/db/database.h"
#include "storage/db/file_key.h"
#include "storage/items/item_store.h"
#include "storage/patterns/pattern_store.h"
#include "storage/sessions/session_index.h"
#include "storage/trajectories/trajectory_store.h"
#include "storage/witness/witness_archive_key.h"
#include "storage/witness/witness_log.h"

namespace ruvd {
namespace {

// One core stays free for the io and learning threads, where there is more than one.
int InferenceThreads(int configured) {
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  return configured > 0 ? configured : std::max(1, cores - 1);
}

// Members are declared in order of dependence, so that destruction takes them down in the reverse
// order.
class NodeImpl final : public Node {
 public:
  explicit NodeImpl(NodeConfig config)
      : config_(std::move(config)),
        runner_(InferenceThreads(config_.inference.threads)),
        started_(clock_.Now()) {}
  ~NodeImpl() override { StopNow(); }

  absl::Status Start();

  std::string api_address() const override { return api_address_; }
  std::string federation_address() const override { return federation_address_; }
  std::string metrics_address() const override { return metrics_->address(); }
  std::string id() const override { return ToHex(files_->key.id()); }
  absl::Status Drain(Duration deadline) override;

 private:
  absl::Status MakePrefixTree();
  absl::Status OpenStores();
  absl::Status OpenRecords();
  void ExpectUser(const std::string& user_id);
  absl::Status LoadModel();
  absl::Status StartActors();
  absl::Status StartLearning();
  absl::Status StartDeep(const LearningServices& services);
  const SimilarityScale& Scale() const {
    return package_.whitening == nullptr ? kPlainSimilarity : kWhitenedSimilarity;
  }
  absl::Status StartFederation();
  absl::Status StartServers();
  void FillStatus(NodeStatus* status) const;
  // Stops servers, actors and threads, whatever state they are in. Idempotent.
  void StopNow();

  const NodeConfig config_;
  const Clock& clock_ = SystemClock();
  std::unique_ptr<Metrics> metrics_;
  std::unique_ptr<NodeFiles> files_;

  std::unique_ptr<Database> database_;
  std::unique_ptr<TrajectoryStore> trajectories_;
  std::unique_ptr<PatternStore> patterns_;
  std::unique_ptr<ItemStore> items_;
  std::unique_ptr<ConsentStore> consent_;
  std::unique_ptr<CounterStore> counters_;
  std::unique_ptr<SessionIndex> sessions_;
  std::unique_ptr<ChangeStore> changes_;
  std::unique_ptr<AnswerStore> answers_;
  std::unique_ptr<WitnessLog> witness_;

  ModelPackage package_;
  std::shared_ptr<const Model> model_;  // the package's
  ThreadParallelRunner runner_;
  std::shared_ptr<PrefixTree> prefixes_;   // of the serving transformer
  std::unique_ptr<Transformer> serving_;   // used on compute_pool_ only
  std::unique_ptr<Transformer> scoring_;   // used on compute_pool_ only
  std::unique_ptr<Transformer> training_;  // used on learning_pool_ only
  std::unique_ptr<Frame> frame_;
  std::unique_ptr<AdapterCatalog> catalog_;
  std::unique_ptr<AdapterSource> adapters_;
  UsualEntropy usual_entropy_;  // used on compute_pool_ only

  ThreadPool io_pool_{{.name = "io", .threads = 2}};
  ThreadPool compute_pool_{{.name = "inference", .threads = 1}};
  ThreadPool query_pool_{{.name = "queries", .threads = 1, .low_priority = true}};
  // These wait for the disk, and share its waits.
  ThreadPool pattern_pool_{{.name = "patterns", .threads = 4, .low_priority = true}};
  ThreadPool upkeep_pool_{{.name = "upkeep", .threads = 1, .low_priority = true}};
  ThreadPool backup_pool_{{.name = "backup", .threads = 1, .low_priority = true}};
  ThreadPool learning_pool_{{.name = "learning", .threads = 1, .low_priority = true}};
  std::atomic<bool> stopping_{false};  // ends what nobody waits for
  std::atomic<bool> aborting_{false};  // ends what requests wait for, too
  LinkDialer dialer_;
  std::unique_ptr<ActorSystem> actors_;
  std::unique_ptr<FederationActor> federation_;
  std::unique_ptr<RequestRecorder> recorder_;
  std::unique_ptr<InstantLoop> instant_;
  std::unique_ptr<LearningThrottle> throttle_;
  std::unique_ptr<InferenceActor> inference_;
  std::unique_ptr<LearningActor> learning_;
  GeneralTextGate general_text_;  // used on learning_pool_ only
  std::unique_ptr<DeepActor> deep_;

  std::unique_ptr<PatternFeed> pattern_feed_;
  std::vector<std::unique_ptr<grpc::Service>> services_;
  std::unique_ptr<grpc::Server> api_server_;
  std::unique_ptr<grpc::Server> federation_server_;
  std::string api_address_;
  std::string federation_address_;
  const TimePoint started_;
  bool stopped_ = false;
  bool orderly_ = false;  // every message was finished before the stop
};

absl::Status NodeImpl::Start() {
  RETURN_IF_ERROR(CheckKernelsVariable());
  ASSIGN_OR_RETURN(metrics_, Metrics::Create(config_.metrics.listen));
  RETURN_IF_ERROR(LoadModel());
  RETURN_IF_ERROR(OpenStores());
  RETURN_IF_ERROR(StartActors());
  RETURN_IF_ERROR(StartServers());
  AddNodeMetrics({.prefixes = prefixes_.get(),
                  .patterns = patterns_.get(),
                  .inference = inference_.get(),
                  .actors = actors_.get(),
                  .throttle = throttle_.get()},
                 metrics_.get());
  return absl::OkStatus();
}

absl::Status NodeImpl::LoadModel() {
  ASSIGN_OR_RETURN(package_, LoadModelPackage(config_.model.path));
  model_ = package_.model;
  for (const std::string& warning : model_->tokenizer().warnings()) {
    spdlog::warn("{}: {}", config_.model.path, warning);
  }
  const Precision precision =
      config_.inference.precision == "exact" ? Precision::kExact : Precision::kFast;
  ASSIGN_OR_RETURN(serving_,
                   DefaultBackend().Load(model_, {.precision = precision, .runner = runner_}));
  ASSIGN_OR_RETURN(scoring_, DefaultBackend().Load(model_, {.runner = runner_}));
  RETURN_IF_ERROR(MakePrefixTree());
  ASSIGN_OR_RETURN(training_, DefaultBackend().Load(model_, {.runner = SerialRunner()}));
  ASSIGN_OR_RETURN(Frame frame, RandomFrame(*model_, config_.federation.core_rank,
                                            config_.federation.frame_seed));
  frame_ = std::make_unique<Frame>(std::move(frame));
  return absl::OkStatus();
}

absl::Status NodeImpl::MakePrefixTree() {
  ASSIGN_OR_RETURN(const KvFormat format, ParseKvFormat(config_.inference.kv_format));
  ASSIGN_OR_RETURN(auto pool, DefaultBackend().CreateKvPool(model_->config(), format,
                                                            config_.inference.kv_bytes));
  prefixes_ = std::make_shared<PrefixTree>(std::move(pool));
  return absl::OkStatus();
}

absl::Status NodeImpl::OpenStores() {
  ASSIGN_OR_RETURN(NodeFiles files, OpenNodeFiles(config_));
  files_ = std::make_unique<NodeFiles>(std::move(files));
  ASSIGN_OR_RETURN(database_, OpenNodeStore(config_, *files_->seal_source, clock_));
  if (const size_t removed = RemoveUnfinishedBackups(BackupDirOf(config_)); removed > 0) {
    spdlog::warn("{} backup(s) in {} were interrupted before they were whole, and are removed",
                 removed, BackupDirOf(config_));
  }
  ASSIGN_OR_RETURN(trajectories_, TrajectoryStore::Open(*database_, {}));
  items_ = std::make_unique<ItemStore>(*database_);
  consent_ = std::make_unique<ConsentStore>(*database_);
  counters_ = std::make_unique<CounterStore>(*database_);
  PatternStoreOptions patterns;
  patterns.dimension = static_cast<uint32_t>(model_->config().width);
  patterns.model_hash = package_.id;
  patterns.capacity = static_cast<size_t>(config_.storage.patterns);
  patterns.m = static_cast<uint32_t>(config_.storage.hnsw_m);
  patterns.ef_construction = static_cast<uint32_t>(config_.storage.hnsw_ef_construction);
  ASSIGN_OR_RETURN(patterns_, PatternStore::Open(*database_, patterns));
  SelectionOptions selection;
  const SimilarityScale& scale = Scale();
  selection.threshold =
      config_.retrieval.similarity == 0 ? scale.related : config_.retrieval.similarity;
  selection.max_adapters = config_.retrieval.max_adapters;
  catalog_ = std::make_unique<AdapterCatalog>(
      *model_, AdapterCatalogOptions{.budget = config_.inference.adapter_bytes,
                                     .folder = AdapterDirOf(config_),
                                     .learned_folder = LearnedDirOf(config_)});
  RETURN_IF_ERROR(catalog_->LoadConfigured(config_.inference.adapters));
  catalog_->LoadImported();
  catalog_->LoadLearned();
  adapters_ = std::make_unique<AdapterSource>(*patterns_, *model_, selection, *catalog_);
  return OpenRecords();
}

// The first value of a user waits for an fsync of the user's key, which is not to be the inference
// thread's wait. Where it fails, storing the value says why.
void NodeImpl::ExpectUser(const std::string& user_id) {
  pattern_pool_.Post([database = database_.get(), scope = KeyScope::User(user_id)] {
    database->EnsureKey(scope).IgnoreError();
  });
}

absl::Status NodeImpl::OpenRecords() {
  ASSIGN_OR_RETURN(
      changes_, ChangeStore::Open(*database_,
                                  {.image_scope = KeyScope::Collection(patterns_->collection())}));
  ASSIGN_OR_RETURN(answers_, AnswerStore::Open(*database_));
  SessionIndexOptions sessions;
  sessions.dimension = static_cast<uint32_t>(model_->config().width);
  sessions.embedded_by = std::string(AsText(package_.id));
  sessions.idle_limit = std::chrono::hours(24) * config_.storage.session_days;
  ASSIGN_OR_RETURN(sessions_, SessionIndex::Open(*database_, sessions));
  if (sessions_->undecodable() > 0) {
    spdlog::warn("{} conversations cannot be read and are left out; `ruvd store verify` names them",
                 sessions_->undecodable());
  }
  WitnessLogOptions witness;
  witness.retention.retention = std::chrono::hours(24) * config_.storage.witness_days;
  witness.retention.capacity = static_cast<size_t>(config_.storage.witness_entries);
  witness.retention.archive_folder = config_.storage.witness_archive;
  if (!config_.storage.witness_archive.empty()) {
    ASSIGN_OR_RETURN(witness.retention.archive_key, WitnessArchiveKey(*database_));
  }
  witness.retention.batch = limits::kWitnessExpiryPerTick;
  ASSIGN_OR_RETURN(witness_, WitnessLog::Open(*database_, witness));
  return absl::OkStatus();
}

absl::Status NodeImpl::StartActors() {
  uint64_t seed = 0;
  std::memcpy(&seed, files_->key.id().data(), sizeof(seed));
  ActorSystemOptions options;
  options.seed = seed ^ static_cast<uint64_t>(clock_.WallMillis());
  options.on_failure = [](const ActorFailure& failure) {
    spdlog::error("actor {} failed and restarts: {}", failure.actor, MessageOf(failure.status));
  };
  options.on_escalation = [](const ActorFailure& failure) {
    spdlog::critical("actor {} failed too often and is stopped: {}", failure.actor,
                     MessageOf(failure.status));
  };
  actors_ = std::make_unique<ActorSystem>(io_pool_, std::move(options));
  StartMaintenanceActor(*actors_, {.database = database_.get(),
                                   .patterns = patterns_.get(),
                                   .pool = &upkeep_pool_,
                                   .cancelled = [this] { return stopping_.load(); }});
  RETURN_IF_ERROR(StartFederation());
  ASSIGN_OR_RETURN(recorder_, StartWitnessActor(*actors_, {.clock = &clock_,
                                                           .log = witness_.get(),
                                                           .sessions = sessions_.get()}));
  instant_ = std::make_unique<InstantLoop>(
      InstantLoopOptions{.clock = &clock_, .on = config_.learning.instant});
  throttle_ = std::make_unique<LearningThrottle>(
      LearningThrottleOptions{.clock = &clock_,
                              .slow_down = static_cast<double>(config_.learning.slow_down),
                              .memory_bytes = config_.learning.memory_bytes,
                              .session_bytes = [this] { return instant_->status().bytes; }});
  std::optional<DgrOptions> dgr;
  if (const auto strategy = DgrStrategyByName(config_.retrieval.dgr)) {
    dgr = DgrOptions{.strategy = *strategy,
                     .max_retrievals = config_.retrieval.dgr_queries,
                     .min_t = config_.retrieval.dgr_min_t};
  }
  inference_ = StartInferenceActor(
      *actors_, {.queue = static_cast<size_t>(config_.inference.queue),
                 .services = {.clock = &clock_,
                              .adapters = adapters_.get(),
                              .trajectories = trajectories_.get(),
                              .whitening = package_.whitening.get(),
                              .package_id = package_.id,
                              .model_name = model_->config().name,
                              .prefixes = prefixes_,
                              .sampler = SamplerByName(config_.inference.sampler),
                              .max_tokens_limit = config_.inference.max_tokens_limit,
                              .recorder = recorder_.get(),
                              .expect_user = [this](const std::string& id) { ExpectUser(id); },
                              .instant = instant_.get(),
                              .dgr = dgr,
                              .usual_entropy = &usual_entropy_},
                 .transformer = serving_.get(),
                 .exact = scoring_.get(),
                 .compute = &compute_pool_,
                 .files = &pattern_pool_,
                 .aborted = [this] { return aborting_.load(); },
                 .metrics = metrics_.get(),
                 .on_step = [this](double seconds) { throttle_->StepEnded(seconds); }});
  return StartLearning();
}

absl::Status NodeImpl::StartLearning() {
  LearningActorOptions learning;
  learning.services = {.clock = &clock_,
                       .transformer = training_.get(),
                       .trajectories = trajectories_.get(),
                       .patterns = patterns_.get(),
                       .whitening = package_.whitening.get(),
                       .package_id = package_.id,
                       .frame = config_.federation.enabled ? frame_.get() : nullptr,
                       .origin = files_->key.id(),
                       .changes = changes_.get(),
                       .cancelled = [this] { return stopping_.load(); }};
  learning.round = RoundOptionsOf(config_.learning, Scale());
  learning.enabled = config_.learning.enabled;
  learning.round_after_requests = config_.learning.background_requests;
  learning.round_after_age = std::chrono::seconds(config_.learning.background_seconds);
  learning.pool = &learning_pool_;
  learning.metrics = metrics_.get();
  learning.answers = answers_.get();
  learning.witness = witness_.get();
  learning.instant = instant_.get();
  learning.throttle = throttle_.get();
  RETURN_IF_ERROR(StartDeep(learning.services));
  learning.on_feedback = [this](const Trajectory& trajectory) {
    if (auto rating = RatingOf(trajectory)) {
      deep_->OnRated(*std::move(rating));
    }
  };
  learning.withdraw = [this](const LearningChange& change) {
    return WithdrawDeep(*catalog_, change);
  };
  learning.on_pattern = [this](const PatternId& id) { federation_->OnPatternStored(id); };
  learning_ = StartLearningActor(*actors_, learning);
  return absl::OkStatus();
}

absl::Status NodeImpl::StartDeep(const LearningServices& services) {
  DeepActorOptions options;
  options.enabled = config_.learning.enabled;
  absl::StatusOr<SealKey> key =
      FileKey(*database_, "learned/checkpoint-key", "checkpoints of deep rounds");
  const absl::Status folder = MakeDataFolder(LearnedDirOf(config_));
  if (key.ok() && folder.ok()) {
    options.services.checkpoint_key = *std::move(key);
  } else {  // a full disk keeps no node from serving
    spdlog::warn("no deep round runs until the next start: {}",
                 MessageOf(key.ok() ? folder : key.status()));
    options.enabled = false;
  }
  options.services.learning = services;
  options.services.catalog = catalog_.get();
  options.services.gate = &general_text_;
  options.services.checkpoint_path = LearnedDirOf(config_) + "/checkpoint";
  options.round = DeepOptionsOf(config_.learning);
  options.interval = std::chrono::hours(config_.learning.deep_hours);
  options.pool = &learning_pool_;
  options.throttle = throttle_.get();
  deep_ = StartDeepActor(*actors_, options);
  return absl::OkStatus();
}

absl::Status NodeImpl::StartFederation() {
  if (!config_.federation.enabled) {
    federation_ = MakeIsolatedFederation(clock_);
    return absl::OkStatus();
  }
  FederationActorOptions options;
  ASSIGN_OR_RETURN(options.gossip.certificate, LoadCertificate(config_, clock_));
  options.gossip.model_hash = package_.id;
  options.gossip.frame_id = frame_->id;
  options.gossip.listen_address = config_.federation.advertise.empty()
                                      ? config_.federation.listen
                                      : config_.federation.advertise;
  options.gossip.seeds = config_.federation.seeds;
  UpdateRules rules;
  rules.rank_of_target[frame_->target] = static_cast<uint32_t>(frame_->rank);
  rules.banks = kTimestepBanks;
  options.gossip.update_rules = rules;
  options.gossip.pattern_rules.dimension = patterns_->dimension();
  options.gossip.pattern_rules.cores = rules;
  options.next_boot = [this] { return counters_->NextBoot(); };
  options.key = &files_->key;
  options.clock = &clock_;
  options.frame = frame_.get();
  options.items = items_.get();
  options.patterns = patterns_.get();
  options.consent = consent_.get();
  options.adapters = adapters_.get();
  options.transformer = training_.get();
  options.learning_pool = &learning_pool_;
  options.cancelled = [this] { return stopping_.load(); };
  options.dial = [this](const std::string& address) { dialer_.Dial(address); };
  options.round = std::chrono::seconds(config_.federation.round_seconds);
  ASSIGN_OR_RETURN(federation_, StartFederationActor(*actors_, options));
  dialer_.Bind(*federation_);
  return absl::OkStatus();
}

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
  dependencies.backup_dir = BackupDirOf(config_);
  dependencies.queries = &query_pool_;
  dependencies.pattern_calls = &pattern_pool_;
  dependencies.upkeep = &upkeep_pool_;
  dependencies.backups = &backup_pool_;
  dependencies.stopping = [this] { return stopping_.load(); };
  dependencies.federation = federation_.get();
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

absl::Status NodeImpl::Drain(Duration deadline) {
  if (stopped_) {
    return absl::OkStatus();
  }
  const TimePoint end = clock_.Now() + deadline;
  stopping_.store(true);  // ends a background round between two batches
  pattern_feed_->Close();
  if (auto* health = api_server_->GetHealthCheckService(); health != nullptr) {
    health->SetServingStatus(false);
  }
  // Left for closing the servers and the store.
  constexpr Duration kClosing = std::chrono::milliseconds(1500);
  const DrainReport report = actors_->DrainAndWait(end - kClosing);
  orderly_ = report.complete;
  StopNow();
  if (!report.complete) {
    return Error(absl::StatusCode::kDeadlineExceeded, reasons::kNodeDraining,
                 "{} accepted message(s) were not finished when the drain's deadline passed; allow "
                 "more time",
                 report.messages_lost);
  }
  return absl::OkStatus();
}

void NodeImpl::StopNow() {
  if (std::exchange(stopped_, true)) {
    return;
  }
  stopping_.store(true);
  aborting_.store(true);
  if (metrics_ != nullptr) {
    metrics_->RemoveReaders();
  }
  if (pattern_feed_ != nullptr) {
    pattern_feed_->Close();
  }
  // Last writes go out, then what is still open is cancelled; waits until gRPC is done with every
  // call.
  constexpr auto kGrace = std::chrono::milliseconds(400);
  if (api_server_ != nullptr) {
    api_server_->Shutdown(std::chrono::system_clock::now() + kGrace);
  }
  dialer_.Shutdown();
  if (federation_server_ != nullptr) {
    federation_server_->Shutdown(std::chrono::system_clock::now() + kGrace);
  }
  actors_.reset();  // by force whatever still runs; nobody asks them any more
  query_pool_.Shutdown();
  pattern_pool_.Shutdown();
  upkeep_pool_.Shutdown();
  backup_pool_.Shutdown();
  learning_pool_.Shutdown();
  compute_pool_.Shutdown();
  io_pool_.Shutdown();
  if (witness_ != nullptr) {  // after a stop by force the actor has not
    if (absl::Status flushed = witness_->FlushAll(); !flushed.ok()) {
      spdlog::error("what the last requests did is lost: {}", MessageOf(flushed));
    }
  }
  if (orderly_) {  // the next start links what is not saved; one that was interrupted has the
                   // former
    if (absl::Status saved = patterns_->Checkpoint(); !saved.ok()) {
      spdlog::warn("the graph of the patterns is not saved, the next start links it anew: {}",
                   MessageOf(saved));
    }
  }
  if (database_ != nullptr) {
    if (absl::Status closed = database_->Close(); !closed.ok()) {
      spdlog::error("closing the store: {}", MessageOf(closed));
    }
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Node>> Node::Start(const NodeConfig& config) {
  auto node = std::make_unique<NodeImpl>(config);
  RETURN_IF_ERROR(node->Start());
  return node;
}

}  // namespace ruvd
