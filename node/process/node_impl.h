// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/boot_clock.h"
#include "base/bytes.h"
#include "base/limit_registry.h"
#include "base/parallel.h"
#include "base/thread_pool.h"
#include "inference/adapter/frame_set.h"
#include "inference/model/model.h"
#include "inference/package/model_package.h"
#include "inference/transformer/transformer.h"
#include "node/actors/deep_actor.h"
#include "node/actors/federation_actor.h"
#include "node/actors/maintenance_actor.h"
#include "node/admission/admission_controller.h"
#include "node/admission/certificate_renewer.h"
#include "node/admission/link_tls.h"
#include "node/admission/revocation_file.h"
#include "node/api/admission_service.h"
#include "node/api/callers.h"
#include "node/api/http/http_api.h"
#include "node/api/link.h"
#include "node/api/link_counts.h"
#include "node/api/pattern_feed.h"
#include "node/api/server.h"
#include "node/http/server.h"
#include "node/learning/deep_memory.h"
#include "node/learning/general_text.h"
#include "node/learning/general_text_gate.h"
#include "node/learning/learning.h"
#include "node/learning/learning_throttle.h"
#include "node/learning/memory.h"
#include "node/learning/router_learner.h"
#include "node/log/log_limit.h"
#include "node/metrics/metrics.h"
#include "node/process/learning_options.h"
#include "node/process/locked_clock.h"
#include "node/process/node.h"
#include "node/process/node_files.h"
#include "node/process/node_health.h"
#include "node/process/node_tuning.h"
#include "node/process/port_watchdog.h"
#include "node/process/request_extensions.h"
#include "node/process/resource_use.h"
#include "node/runtime/actor_system.h"
#include "node/serving/adapter_catalog.h"
#include "node/serving/adapter_source.h"
#include "node/serving/erasure_fence.h"
#include "node/serving/extensions/instant_loop.h"
#include "node/serving/extensions/lesson_memories.h"
#include "node/serving/extensions/pattern_graph.h"
#include "node/serving/extensions/request_router.h"
#include "node/serving/generation_services.h"
#include "node/serving/inference.h"
#include "node/serving/request_trace.h"
#include "node/sharing/contribution_judge.h"
#include "node/sharing/expert_trial.h"
#include "node/sharing/federation.h"
#include "node/sharing/global_gate.h"
#include "node/sharing/limits.h"
#include "node/sharing/local_contributor.h"
#include "node/sharing/operator_withdrawal.h"
#include "node/sharing/pattern_trial.h"
#include "node/sharing/peer_counters.h"
#include "node/sharing/trust_records.h"
#include "node/transport/api_keys.h"
#include "node/transport/grpc_types.h"
#include "ruvd/node/v1/node.pb.h"
#include "storage/changes/change_store.h"
#include "storage/changes/feedback_answer_store.h"
#include "storage/consent/consent_book.h"
#include "storage/consent/consent_store.h"
#include "storage/consent/release_source_store.h"
#include "storage/consent/user_consent_store.h"
#include "storage/consent/withdrawal_store.h"
#include "storage/counters/counter_store.h"
#include "storage/db/database.h"
#include "storage/graph/graph_store.h"
#include "storage/items/item_store.h"
#include "storage/ledger/privacy_ledger_store.h"
#include "storage/lessons/lesson_store.h"
#include "storage/patterns/pattern_store.h"
#include "storage/sessions/session_index.h"
#include "storage/state/state_store.h"
#include "storage/tokens/observed_store.h"
#include "storage/trajectories/trajectory_store.h"
#include "storage/witness/witness_log.h"

namespace ruvd::node {

// The implementation of Node. Members are declared in the order of their dependencies, so that they
// are destroyed in reverse order.
class NodeImpl final : public Node {
 public:
  NodeImpl(config::NodeConfig config, NodeTuning tuning);
  ~NodeImpl() override;

  absl::Status Start();

  std::string api_address() const override { return api_port_.address; }
  std::string http_address() const override { return http_ == nullptr ? "" : http_->address(); }
  std::string federation_address() const override { return federation_port_.address; }
  std::string metrics_address() const override { return metrics_->address(); }
  std::string id() const override { return ToHex(files_->key.id()); }
  absl::Status ReloadCredentials() override;
  absl::Status failure() const override { return watchdog_->failure(); }
  absl::Status Drain(Duration deadline) override;

 private:
  absl::Status MakePrefixTree();
  absl::Status OpenStores();
  absl::Status OpenRecords();
  void PrepareUserKey(const std::string& user_id);
  absl::Status LoadModel();
  // Sets frame_. A node that gets no frame serves and learns by itself all the same.
  void LoadFrame();
  absl::Status StartActors();
  void MakeActorSystem();
  void StartInference();
  void StartMemory();
  // Starts the router. A failure is logged, and requests are then served as requested.
  void StartRouter();
  absl::Status StartLearning();
  absl::Status StartDeep(const learning::LearningServices& services);
  absl::Status LoadGeneralText();
  // Returns the least cosine at which a pattern is found for a request.
  float RelatedSimilarity() const { return tuning_.similarity.value_or(Scale().related); }
  const inference::SimilarityThresholds& Scale() const {
    return package_.whitening == nullptr ? inference::kPlainSimilarity
                                         : inference::kWhitenedSimilarity;
  }
  absl::Status StartFederation();
  absl::Status Federate(const federation::GossipConfig& gossip);
  void Isolate(const absl::Status& why);
  absl::Status isolation() const;
  // Notices when the certificate of an isolated node has become usable.
  void CheckIsolation();
  void ScheduleIsolationCheck();
  // Returns whether the data folder holds the key of the cluster's authority.
  bool HoldsAuthority() const;
  // Returns what the configuration, the model package and the certificate say of gossip.
  absl::StatusOr<federation::GossipConfig> GossipConfigOf();
  // Returns where revocations by the issuer and proofs against members are kept.
  sharing::TrustStore TrustStoreOf(const privacy::PublicKey& root);
  // Returns the services that all learning loops share.
  learning::LearningServices ServicesOfLearning();
  // Prepares releases. An error of the ledger or the policy prevents releases but not serving.
  void PrepareReleases();
  // Adds the rounds of the cluster to the options, if the node has a frame.
  absl::Status PrepareRounds(actors::FederationActorOptions* options);
  bool LinksArePlain() const { return config_.federation.tls == "off"; }
  absl::Status StartServers();
  // Returns the embedding of a stored request's prompt, or an empty vector if it is not stored. For
  // query_pool_.
  std::vector<float> EmbedResponse(const std::string& response_id);
  absl::Status StartLinkServer();
  // Opens the admission office and its services if the data folder holds the cluster authority's
  // key.
  absl::Status OpenAdmissionController();
  // Runs periodically: signs the authority's revocation list again before it is too old.
  void RefreshRevocations();
  // The check of the certificate runs periodically and when credentials are reloaded.
  absl::Status OpenCertificateRenewer();
  void CheckCertificate();
  // Shows a new certificate of this node to the other ends of links.
  void ShowCertificate(const privacy::AdmissionCert& certificate);
  void WarnIfIssuerEnds();
  void CheckCertificateOnce();
  void ScheduleCertificateCheck();
  absl::Status LoadKeys();
  // Returns plain credentials, or TLS with keys, according to the configuration.
  absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ApiCredentials();
  void FillStatus(node::v1::GetStatusResponse* status) const;
  void WriteStores(node::v1::GetStatusResponse* status) const;
  void WritePorts(node::v1::GetStatusResponse* status) const;
  std::vector<PartHealth> Parts() const;
  api::HttpHealth HttpHealth() const;
  // Adds the limits of all parts to limits_, once the ports are open.
  void RegisterLimits();
  ResourceUse Resources() const;
  // Runs periodically: reports the health of the parts.
  void LookAtHealth();
  // Opens the port of the HTTP API, unless the configuration has none. At the default address, one
  // that is taken is only logged.
  absl::Status OpenHttp(const api::ServiceDependencies& dependencies);
  // Opens the unix socket for clients, unless the configuration has none. At the default path, one
  // that cannot be opened is only logged.
  absl::Status OpenSocket();
  // Returns what counts the calls of a client port.
  api::HearCall HearCalls();
  // Makes the watchdog of the ports that this node will have.
  void MakeWatchdog();
  // Runs periodically, once all ports are open: dials them.
  void LookAtPorts();
  void ScheduleLookAtPorts();
  // Stops servers, actors and threads in any state. Idempotent.
  void StopNow();

  const config::NodeConfig config_;
  const NodeTuning tuning_;
  const Clock& clock_ = SystemClock();
  LockedClock cluster_clock_{clock_, SinceBoot};  // by which the node federates
  std::unique_ptr<metrics::Metrics> metrics_;
  std::unique_ptr<NodeFiles> files_;

  std::unique_ptr<storage::Database> database_;
  std::unique_ptr<storage::TrajectoryStore> trajectories_;
  std::unique_ptr<storage::LessonStore> lessons_;
  std::unique_ptr<storage::ObservedStore> observed_;
  std::unique_ptr<storage::PatternStore> patterns_;
  std::unique_ptr<storage::ItemStore> items_;
  std::unique_ptr<storage::StateStore> state_;
  std::unique_ptr<storage::ConsentStore> consent_;
  std::unique_ptr<sharing::OperatorWithdrawal> withdrawal_;
  std::unique_ptr<storage::UserConsentStore> user_consents_;
  std::unique_ptr<storage::WithdrawalStore> withdrawals_;
  std::unique_ptr<storage::ReleaseSourceStore> release_sources_;
  std::unique_ptr<storage::ConsentBook> consents_;
  std::unique_ptr<storage::PrivacyLedgerStore> ledger_;     // null: it could not be opened
  std::unique_ptr<sharing::LocalContributor> contributor_;  // null: the node does not federate
  // Used on learning_pool_ only; null: the node takes part in no rounds
  std::unique_ptr<sharing::GlobalGate> global_gate_;
  std::unique_ptr<sharing::ContributionJudge> contribution_judge_;
  // Used on learning_pool_ only; null: the node does not federate
  std::unique_ptr<sharing::PatternTrial> pattern_trial_;
  std::unique_ptr<sharing::ExpertTrial> expert_trial_;  // null: experts are off
  sharing::PeerCounters peer_counters_;
  actors::PeerCommits peer_commits_;
  api::LinkCounts link_counts_;
  api::JoinCounts join_counts_;
  LimitRegistry limits_;  // of what stands above and below
  std::unique_ptr<storage::CounterStore> counters_;
  std::unique_ptr<storage::GraphStore> graph_;
  std::unique_ptr<storage::SessionIndex> sessions_;
  std::unique_ptr<serving::PatternGraph> pattern_graph_;
  std::unique_ptr<storage::ChangeStore> changes_;
  std::unique_ptr<storage::FeedbackAnswerStore> answers_;
  std::unique_ptr<storage::WitnessLog> witness_;

  inference::ModelPackage package_;
  std::shared_ptr<const inference::Model> model_;  // the model of package_
  ThreadParallelRunner runner_;
  std::shared_ptr<inference::PrefixTree> prefixes_;         // of the serving transformer
  std::unique_ptr<inference::Transformer> serving_;         // used on compute_pool_ only
  std::unique_ptr<inference::Transformer> scoring_;         // used on compute_pool_ only
  std::unique_ptr<inference::Transformer> querying_;        // used on query_pool_ only
  std::unique_ptr<inference::Transformer> training_;        // used on learning_pool_ only
  std::unique_ptr<inference::Transformer> embedding_;       // used on learning_pool_ only
  std::unique_ptr<inference::Transformer> deep_embedding_;  // used on deep_pool_ only
  std::unique_ptr<inference::Transformer> remembering_;     // used on memory_pool_ only
  std::unique_ptr<ThreadParallelRunner> deep_runner_;
  std::unique_ptr<inference::Transformer> deep_training_;  // used on deep_pool_ only
  // The frame of cores of all linear layers; null: the node has none
  std::shared_ptr<const inference::FrameSet> frame_;
  std::unique_ptr<serving::AdapterCatalog> catalog_;
  std::unique_ptr<serving::AdapterSource> adapters_;

  // Two actors, the witness actor and the gossip actor, may wait for a store in their turns. The
  // turns of all others must go on meanwhile.
  ThreadPool io_pool_{{.name = "io", .threads = 4}};
  ThreadPool compute_pool_{{.name = "inference", .threads = 1}};
  ThreadPool record_pool_{{.name = "records", .threads = 1}};
  ThreadPool query_pool_{{.name = "queries", .threads = 1, .low_priority = true}};
  // These threads wait for the disk together, so that one fsync serves several of them.
  ThreadPool pattern_pool_{{.name = "patterns", .threads = 4, .low_priority = true}};
  ThreadPool upkeep_pool_{{.name = "upkeep", .threads = 1, .low_priority = true}};
  ThreadPool backup_pool_{{.name = "backup", .threads = 1, .low_priority = true}};
  ThreadPool learning_pool_{{.name = "learning", .threads = 1, .low_priority = true}};
  ThreadPool deep_pool_{{.name = "deep", .threads = 1, .low_priority = true}};
  ThreadPool memory_pool_{{.name = "memory", .threads = 1, .low_priority = true}};
  // It has nothing else to do, so that no work keeps a deaf port from being found.
  ThreadPool watch_pool_{{.name = "ports", .threads = 1}};
  std::atomic<bool> stopping_{false};  // ends work that no caller waits for
  std::atomic<bool> aborting_{false};  // ends work that requests wait for, too
  admission::RevocationFile revocations_{config_.node.data_dir};
  std::unique_ptr<admission::LinkTls> link_tls_;  // null: links are plain
  std::unique_ptr<admission::AdmissionController>
      office_;                                    // null: another node holds the authority's key
  std::optional<int64_t> issuer_days_;            // that its key is good for, when it last looked
  std::shared_ptr<transport::ApiKeys> api_keys_;  // null: clients need no key
  std::shared_ptr<const api::Callers> callers_;
  std::atomic<bool> looking_at_certificate_{false};
  Mutex certificate_mutex_;  // held while the authority is asked
  std::unique_ptr<admission::CertificateRenewer> certificate_
      ABSL_GUARDED_BY(certificate_mutex_);  // null: the node does not federate
  api::LinkDialer dialer_;
  std::unique_ptr<runtime::ActorSystem> actors_;
  std::unique_ptr<sharing::FederationActor> federation_;
  serving::ErasureFence fence_{clock_};
  std::unique_ptr<serving::RequestRecorder> recorder_;
  std::unique_ptr<serving::InstantLoop> instant_;
  std::unique_ptr<learning::LearningThrottle> throttle_;
  std::unique_ptr<serving::LessonMemories> memories_;  // null: no lesson is remembered
  std::unique_ptr<learning::MemoryActor> memory_;
  std::unique_ptr<serving::RequestRouter> router_;           // null: the router is off
  std::unique_ptr<learning::RouterLearner> router_learner_;  // null if router_ is null
  std::vector<std::unique_ptr<serving::RequestExtensionFactory>> extensions_;
  std::unique_ptr<serving::InferenceActor> inference_;
  std::unique_ptr<learning::LearningActor> learning_;
  learning::GeneralTextGate general_text_;      // used on deep_pool_ only
  learning::GeneralPassages general_passages_;  // general text of deep rounds
  std::unique_ptr<learning::DeepMemories> deep_memories_;
  std::unique_ptr<learning::DeepActor> deep_;

  std::unique_ptr<api::PatternFeed> pattern_feed_;
  std::vector<std::unique_ptr<grpc::Service>> services_;
  std::vector<grpc::Service*> link_services_;    // services on the port for peers
  std::vector<grpc::Service*> api_services_;     // services on the port for clients
  std::vector<grpc::Service*> socket_services_;  // services on the unix socket
  size_t descriptors_ = 0;                       // that this process may have
  api::RunningServer api_port_;
  LogLimit foreign_lines_{clock_, limits::kLinkLogLines, limits::kLinkLogPeriod};  // of socket_
  api::RunningServer socket_;  // empty if there is no unix socket
  std::unique_ptr<api::ConnectCalls> connect_;
  std::unique_ptr<api::HttpApi> http_api_;
  std::unique_ptr<http::Server> http_;                      // null: there is no HTTP
  std::unique_ptr<HealthReport> health_;                    // of api_port_
  api::RunningServer federation_port_;                      // empty if the node does not federate
  transport::ConnectionAcceptor* link_acceptor_ = nullptr;  // of federation_port_
  std::unique_ptr<PortWatchdog> watchdog_;                  // of the ports above
  bool federates_ = false;
  mutable Mutex isolation_mutex_;
  // Why a node that should federate does not
  absl::Status isolation_ ABSL_GUARDED_BY(isolation_mutex_);
  const TimePoint started_;
  bool stopped_ = false;
  bool orderly_ = false;  // every message was finished before the stop
};

}  // namespace ruvd::node
