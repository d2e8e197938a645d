// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Starts what is behind the node's services: inference, learning and federation.

#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/bank.h"
#include "inference/constrain/token_trie.h"
#include "inference/evaluate/text_documents.h"
#include "inference/train/losses.h"
#include "node/actors/federation_actor.h"
#include "node/actors/inference_actor.h"
#include "node/actors/learning_actor.h"
#include "node/actors/maintenance_actor.h"
#include "node/actors/memory_actor.h"
#include "node/actors/witness_actor.h"
#include "node/admission/identity.h"
#include "node/learning/deep_limits.h"
#include "node/learning/general_text.h"
#include "node/log/log.h"
#include "node/process/learner_options.h"
#include "node/process/limits.h"
#include "node/process/node_frame.h"
#include "node/process/node_impl.h"
#include "node/reasons.h"
#include "privacy/sodium.h"

namespace ruvd::node {
namespace {

// Returns whether the certificate is damaged, or not valid at this time.
bool IsFaultOfCertificate(std::string_view reason) {
  return reason == reasons::kCertificateInvalid || reason == reasons::kCertificateExpired ||
         reason == reasons::kSignatureInvalid;
}

}  // namespace

void NodeImpl::MakeActorSystem() {
  runtime::ActorSystemOptions options;
  // Peers are chosen by it, so what is public about this node must not reveal it.
  options.seed = privacy::SecureRandomNumber();
  options.on_failure = [](const runtime::ActorFailure& failure) {
    // HealthReport tells of an actor that fails again and again, once.
    Log(failure.failing ? LogLevel::kDebug : LogLevel::kError, "actor {} failed: {}", failure.actor,
        MessageOf(failure.status));
  };
  actors_ = std::make_unique<runtime::ActorSystem>(io_pool_, std::move(options));
}

absl::Status NodeImpl::StartActors() {
  MakeActorSystem();
  actors::StartMaintenanceActor(*actors_, {.database = database_.get(),
                                           .patterns = patterns_.get(),
                                           .graph = pattern_graph_.get(),
                                           .pool = &upkeep_pool_,
                                           .cancelled = [this] { return stopping_.load(); },
                                           .commits = &peer_commits_});
  instant_ = std::make_unique<serving::InstantLoop>(
      serving::InstantLoopOptions{.clock = &clock_, .on = config_.experimental.session_memory});
  throttle_ = std::make_unique<learning::LearningThrottle>(learning::LearningThrottleOptions{
      .clock = &clock_,
      .slow_down = static_cast<double>(config_.learning.slow_down),
      .memory_bytes = config_.learning.memory_bytes,
      .session_bytes = [this] { return instant_->status().bytes; }});
  RETURN_IF_ERROR(LoadGeneralText());
  RETURN_IF_ERROR(StartFederation());
  ASSIGN_OR_RETURN(recorder_, actors::StartWitnessActor(*actors_, {.clock = &clock_,
                                                                   .log = witness_.get(),
                                                                   .sessions = sessions_.get(),
                                                                   .fence = &fence_}));
  StartMemory();
  StartRouter();
  StartInference();
  return StartLearning();
}

void NodeImpl::StartInference() {
  extensions_ = MakeRequestExtensions(config_, {.adapters = adapters_.get(),
                                                .whitening = package_.whitening.get(),
                                                .instant = instant_.get(),
                                                .graph = pattern_graph_.get(),
                                                .router = router_.get(),
                                                .memories = memories_.get()});
  serving::GenerationServices services{
      .clock = &clock_,
      .adapters = adapters_.get(),
      .trajectories = trajectories_.get(),
      .fence = &fence_,
      .whitening = package_.whitening.get(),
      .package_id = package_.id,
      .model_name = model_->config().name,
      .prefixes = prefixes_,
      .sampler = inference::SamplerByName(config_.inference.sampler),
      .token_trie = inference::TokenTrie::Build(model_->tokenizer()),
      .max_tokens_limit = config_.inference.max_tokens_limit,
      .recorder = recorder_.get(),
      .memory_of =
          [memories = memories_.get()](std::string_view user_id, bool causal) {
            return memories == nullptr ? nullptr : memories->ReaderFor(user_id, causal);
          },
      .written_words_choose = WrittenWordsChoose(config_),
      .on_stored =
          [this](const std::string& user_id, const std::string& response_id) {
            if (config_.memory.prompts && !user_id.empty()) {
              memory_->OnStored(response_id);
            }
          },
      .prepare_user_key = [this](const std::string& id) { PrepareUserKey(id); }};
  for (const auto& extension : extensions_) {
    services.extensions.push_back(extension.get());
  }
  inference_ = actors::StartInferenceActor(
      *actors_, {.queue = static_cast<size_t>(config_.inference.queue),
                 .services = std::move(services),
                 .transformer = serving_.get(),
                 .exact = scoring_.get(),
                 .compute = &compute_pool_,
                 .files = &pattern_pool_,
                 .records = &record_pool_,
                 .aborted = [this] { return aborting_.load(); },
                 .metrics = metrics_.get(),
                 .on_step = [this](double seconds) { throttle_->StepEnded(seconds); }});
}

void NodeImpl::StartMemory() {
  actors::MemoryActorOptions options{
      .services = ServicesOfLearning(),
      .rules = {.min_rating = config_.learning.min_rating, .prompts = config_.memory.prompts},
      .max_tokens = static_cast<size_t>(config_.memory.tokens),
      .kept = observed_.get(),
      .pool = &memory_pool_,
      .throttle = throttle_.get()};
  options.services.embedder = remembering_.get();
  if (config_.memory.tokens == 0) {
    options.disabled_because = "memory.tokens is 0";
  } else if (!config_.learning.enabled) {
    options.disabled_because = "learning.enabled is false";
  } else if (package_.memory == nullptr) {
    options.disabled_because = fmt::format("there is no {}; make it with `ruvd model memory`",
                                           inference::MemoryPath(config_.model.path));
  } else {
    memories_ = std::make_unique<serving::LessonMemories>(
        package_.memory, static_cast<size_t>(config_.memory.tokens), clock_, runner_);
    options.memories = memories_.get();
  }
  memory_ = actors::StartMemoryActor(*actors_, options);
}

void NodeImpl::StartRouter() {
  const std::optional<inference::ScorerKind> kind =
      serving::RouterKindByName(config_.experimental.router);
  if (!kind) {
    return;
  }
  router_ = std::make_unique<serving::RequestRouter>(
      serving::RequestRouterOptions{.kind = *kind,
                                    .exploration = tuning_.router_exploration,
                                    .seed = privacy::SecureRandomNumber()});
  // The learning actor switches exploration on once it knows whether it learns.
  router_->SetExploring(false);
  auto learner = learning::RouterLearner::Open(
      {.router = router_.get(), .state = state_.get(), .min_rating = config_.learning.min_rating},
      *trajectories_);
  if (learner.ok()) {
    router_learner_ = *std::move(learner);
  } else {
    LogWarning("the router is off, and requests are served as requested: {} [{}]",
               MessageOf(learner.status()), ReasonOf(learner.status()));
    router_.reset();
  }
}

learning::LearningServices NodeImpl::ServicesOfLearning() {
  return {.clock = &clock_,
          .transformer = training_.get(),
          .embedder = embedding_.get(),
          .trajectories = trajectories_.get(),
          .lessons = lessons_.get(),
          .patterns = patterns_.get(),
          .whitening = package_.whitening.get(),
          .package_id = package_.id,
          .frame = frame_.get(),
          .shares_patterns = config_.federation.enabled,
          .consents = consents_.get(),
          .origin = files_->key.id(),
          .changes = changes_.get(),
          .catalog = catalog_.get(),
          .cancelled = [this] { return stopping_.load(); }};
}

absl::Status NodeImpl::StartLearning() {
  actors::LearningActorOptions learning;
  learning.services = ServicesOfLearning();
  learning.round = BackgroundOptionsOf(config_.learning, Scale(), tuning_.background);
  const absl::Status trainable = inference::train::RulesOf(training_->model()).status();
  learning.enabled = config_.learning.enabled && trainable.ok();
  if (config_.learning.enabled && !trainable.ok()) {
    learning.disabled_because = MessageOf(trainable);
    LogWarning("feedback is not learned from: {}", MessageOf(trainable));
  }
  learning.round_after_requests = tuning_.round_after_ratings;
  learning.round_after_age = tuning_.round_after;
  learning.pool = &learning_pool_;
  learning.metrics = metrics_.get();
  learning.answers = answers_.get();
  learning.witness = witness_.get();
  learning.instant = instant_.get();
  learning.graph = pattern_graph_.get();
  if (memories_ != nullptr) {
    learning.memory_rating = config_.learning.min_rating;
  }
  learning.throttle = throttle_.get();
  learning.router = router_learner_.get();
  RETURN_IF_ERROR(StartDeep(learning.services));
  learning.on_feedback = [this](const storage::Trajectory& trajectory) {
    memory_->OnRated(trajectory.response_id);
    if (auto rating = learning::RatingOf(trajectory)) {
      deep_->OnRated(*std::move(rating));
    }
    if (auto use = sharing::RatedUseOf(trajectory)) {
      federation_->OnRated(*std::move(use));
    }
  };
  learning.on_undone = [this](const storage::LearningChange& change) {
    memory_->OnUndone(change.responses);
  };
  learning.withdraw = [this](const storage::LearningChange& change) {
    return actors::WithdrawDeep(*catalog_, change);
  };
  learning.on_pattern = [this](const storage::PatternId& id) { federation_->OnPatternStored(id); };
  learning_ = actors::StartLearningActor(*actors_, learning);
  return absl::OkStatus();
}

absl::Status NodeImpl::StartDeep(const learning::LearningServices& services) {
  actors::DeepActorOptions options;
  options.enabled = config_.learning.enabled && inference::train::RulesOf(training_->model()).ok();
  deep_memories_ = std::make_unique<learning::DeepMemories>(*state_);
  options.services.memories = deep_memories_.get();
  options.services.state = state_.get();
  options.services.learning = services;
  options.services.learning.transformer = deep_training_.get();
  options.services.learning.embedder = deep_embedding_.get();
  options.services.catalog = catalog_.get();
  options.services.general = &general_passages_;
  options.services.gate = &general_text_;
  options.round = DeepOptionsOf(config_, tuning_.deep);
  options.interval = std::chrono::hours(config_.learning.deep_hours);
  options.pool = &deep_pool_;
  options.throttle = throttle_.get();
  deep_ = actors::StartDeepActor(*actors_, options);
  return absl::OkStatus();
}

absl::Status NodeImpl::LoadGeneralText() {
  if (config_.learning.general_text.empty()) {
    general_passages_ = learning::BuiltInPassages(*model_);
    return absl::OkStatus();
  }
  const std::string& path = config_.learning.general_text;
  const auto documents = inference::ReadTextDocuments(path, limits::kMaxGeneralTextBytes);
  absl::StatusOr<learning::GeneralPassages> passages =
      documents.ok() ? learning::PassagesOf(*documents, *model_) : documents.status();
  if (!passages.ok()) {
    return Annotate(passages.status(), fmt::format("learning.general_text = {}", path));
  }
  general_passages_ = *std::move(passages);
  general_text_ = learning::GeneralTextGate(general_passages_.measured);
  return absl::OkStatus();
}

absl::Status NodeImpl::PrepareRounds(actors::FederationActorOptions* options) {
  if (frame_ == nullptr) {
    return absl::OkStatus();  // LoadFrame has logged why
  }
  ASSIGN_OR_RETURN(
      inference::CoreShape shape,
      inference::CoreShapeOf(*frame_, RankOf(config_),
                             learning::DeepBanks(config_.experimental.banks).boundaries));
  ASSIGN_OR_RETURN(federation::LearnerPlan plan, LearnerPlanOf(config_, shape));
  global_gate_ = std::make_unique<sharing::GlobalGate>(sharing::GlobalGateOptions{
      .min_rating = config_.learning.min_rating, .general = general_passages_.measured});
  contribution_judge_ =
      std::make_unique<sharing::ContributionJudge>(sharing::ContributionJudgeOptions{
          .frame = frame_, .shape = shape, .min_rating = config_.learning.min_rating});
  options->gossip.plan = std::make_shared<const federation::LearnerPlan>(std::move(plan));
  options->rounds = actors::RoundLearningOptions{.plan = options->gossip.plan,
                                                 .frame = frame_,
                                                 .shape = std::move(shape),
                                                 .gate = global_gate_.get(),
                                                 .judge = contribution_judge_.get(),
                                                 .catalog = catalog_.get(),
                                                 .edit = tuning_.edit_contribution};
  return absl::OkStatus();
}

absl::StatusOr<federation::GossipConfig> NodeImpl::GossipConfigOf() {
  federation::GossipConfig gossip;
  ASSIGN_OR_RETURN(gossip.certificate, LoadCertificate(config_, clock_));
  gossip.model_hash = package_.id;
  gossip.listen_address = config_.federation.advertise.empty() ? config_.federation.listen
                                                               : config_.federation.advertise;
  gossip.seeds = config_.federation.seeds;
  gossip.clock = &cluster_clock_;
  gossip.relay = config_.federation.relay;
  gossip.max_stale = std::chrono::hours(config_.federation.max_stale_hours);
  gossip.pattern_rules.dimension = patterns_->dimension();
  if (frame_ != nullptr) {
    gossip.frame_id = frame_->id;
    gossip.pattern_rules.cores = PatternCoreRules(*frame_, model_->config());
  }
  return gossip;
}

sharing::TrustStore NodeImpl::TrustStoreOf(const privacy::PublicKey& root) {
  return {.load_revocations = [this, root] { return revocations_.Load(root); },
          .store_revocations =
              [this, root](const privacy::RevocationList& list) {
                // A full disk must not let a revoked node in.
                const absl::Status refused =
                    link_tls_ == nullptr ? absl::OkStatus() : link_tls_->gate().Revoke(list);
                RETURN_IF_ERROR(revocations_.Store(list, root));
                return refused;
              },
          .load_evidence = [state = state_.get()] { return sharing::LoadEvidence(*state); },
          .store_evidence =
              [state = state_.get()](const std::vector<std::string>& proofs) {
                return sharing::StoreEvidence(*state, proofs);
              },
          .load_scores = [state = state_.get()] { return sharing::LoadScores(*state); },
          .store_scores =
              [state = state_.get()](const federation::KeptScores& scores) {
                return sharing::StoreScores(*state, scores);
              }};
}

// A certificate or a TLS key that a disk or a clock broke must not keep the node from serving its
// own users.
void NodeImpl::Isolate(const absl::Status& why) {
  {
    const MutexLock lock(isolation_mutex_);
    isolation_ = why;
  }
  if (!why.ok()) {
    pattern_pool_.PostAt(clock_.Now() + limits::kIsolationLook,
                         [this] { ScheduleIsolationCheck(); });
  }
  federation_ = actors::MakeIsolatedFederation({.clock = &clock_,
                                                .consent = consent_.get(),
                                                .withdrawal = withdrawal_.get(),
                                                .key = &files_->key,
                                                .pool = &pattern_pool_,
                                                .why = why});
}

absl::Status NodeImpl::isolation() const {
  const MutexLock lock(isolation_mutex_);
  return isolation_;
}

void NodeImpl::CheckIsolation() {
  const std::string reason = ReasonOf(isolation());
  const bool waits = IsFaultOfCertificate(reason) && LoadCertificate(config_, clock_).ok();
  if (waits) {
    const absl::Status usable =
        Error(absl::StatusCode::kFailedPrecondition, reasons::kRestartNeeded,
              "the certificate, which was not usable at the start, is so now; restart this node");
    LogWarning("{} [{}]", MessageOf(usable), ReasonOf(usable));
    const MutexLock lock(isolation_mutex_);
    isolation_ = usable;
  }
}

void NodeImpl::ScheduleIsolationCheck() {
  if (stopping_.load()) {
    return;
  }
  CheckIsolation();
  pattern_pool_.PostAt(clock_.Now() + limits::kIsolationLook, [this] { ScheduleIsolationCheck(); });
}

absl::Status NodeImpl::StartFederation() {
  if (!config_.federation.enabled) {
    Isolate(absl::OkStatus());
    return absl::OkStatus();
  }
  const absl::StatusOr<federation::GossipConfig> gossip = GossipConfigOf();
  if (IsFaultOfCertificate(ReasonOf(gossip.status()))) {
    if (HoldsAuthority()) {
      // Without its office no member of the cluster could join, renew or be revoked.
      return Annotate(gossip.status(),
                      "this node holds the cluster authority's key, so it does not start without a "
                      "certificate; make one with `ruvd cert issue`");
    }
    Isolate(gossip.status());
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(gossip.status());
  if (!LinksArePlain()) {
    auto tls = admission::LinkTls::Create({.path = LinkTlsPathOf(config_),
                                           .certificate = gossip->certificate,
                                           .key = &files_->key,
                                           .gate = std::make_shared<admission::LinkGate>(
                                               gossip->certificate.issuer.root, cluster_clock_)});
    if (!tls.ok()) {
      Isolate(tls.status());
      return absl::OkStatus();
    }
    link_tls_ = *std::move(tls);
  }
  return Federate(*gossip);
}

absl::Status NodeImpl::Federate(const federation::GossipConfig& gossip) {
  PrepareReleases();
  pattern_trial_ = std::make_unique<sharing::PatternTrial>(
      sharing::PatternTrialOptions{.min_rating = config_.learning.min_rating,
                                   .similarity = RelatedSimilarity(),
                                   .general = general_passages_.measured});
  if (config_.federation.experts) {
    expert_trial_ = std::make_unique<sharing::ExpertTrial>(sharing::ExpertTrialOptions{
        .min_rating = config_.learning.min_rating, .general = general_passages_.measured});
  }
  actors::FederationActorOptions options{
      .gossip = gossip,
      .next_boot = [this] { return counters_->NextBoot(); },
      .certificate =
          [this, first = gossip.certificate] {
            return LoadCertificate(config_, cluster_clock_).value_or(first);
          },
      .key = &files_->key,
      .clock = &cluster_clock_,
      .items = items_.get(),
      .patterns = patterns_.get(),
      .consent = consent_.get(),
      .lessons = lessons_.get(),
      .withdrawals = withdrawals_.get(),
      .releases = release_sources_.get(),
      .consents = consents_.get(),
      .contributor = contributor_.get(),
      .frame = frame_.get(),
      .public_examples = static_cast<uint32_t>(config_.privacy.public_examples),
      .pattern_quality = limits::kMinPeerPatternQuality,
      .trial = pattern_trial_.get(),
      .expert_trial = expert_trial_.get(),
      .peer_counters = &peer_counters_,
      .learning = ServicesOfLearning(),
      .throttle = throttle_.get(),
      .learning_pool = &learning_pool_,
      .withdrawal = withdrawal_.get(),
      .pool = &pattern_pool_,
      .dial = [this](const std::string& address) { dialer_.Dial(address); },
      .trust = TrustStoreOf(gossip.certificate.issuer.root),
      .state = state_.get()};
  ASSIGN_OR_RETURN(const privacy::RevocationList revoked, options.trust.load_revocations());
  if (link_tls_ != nullptr && revoked.number > 0) {
    RETURN_IF_ERROR(link_tls_->gate().Revoke(revoked));
  }
  RETURN_IF_ERROR(PrepareRounds(&options));
  ASSIGN_OR_RETURN(federation_, actors::StartFederationActor(*actors_, options));
  federates_ = true;
  if (link_tls_ != nullptr) {
    link_tls_->gate().OnIssuersEnded(
        [federation = federation_.get()](const privacy::IssuerCert& issuer) {
          federation->LearnIssuer(issuer);
        });
  }
  dialer_.Bind(*federation_, link_tls_.get(), link_counts_);
  return absl::OkStatus();
}

}  // namespace ruvd::node
