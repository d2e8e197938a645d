// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// The node's gRPC servers and its status.

#include <fmt/chrono.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "base/bytes.h"
#include "base/host_port.h"
#include "base/status.h"
#include "node/admission/authority_files.h"
#include "node/admission/identity.h"
#include "node/admission/join.h"
#include "node/api/admission_service.h"
#include "node/api/authorization.h"
#include "node/api/server.h"
#include "node/api/services.h"
#include "node/limits.h"
#include "node/log/log.h"
#include "node/process/node_impl.h"
#include "node/process/node_limits.h"
#include "node/process/node_metrics.h"
#include "node/serving/late_embedding.h"
#include "node/transport/header_guard.h"
#include "node/transport/tls.h"
#include "node/version.h"
#include "ruvd/node/v1/node.pb.h"
#include "storage/counters/store_incarnation.h"

namespace ruvd::node {

namespace {}  // namespace

bool NodeImpl::HoldsAuthority() const {
  const auto key = std::filesystem::path(config_.node.data_dir) / admission::kAuthorityKeyFile;
  std::error_code error;
  return std::filesystem::exists(key, error);
}

absl::Status NodeImpl::OpenAdmissionController() {
  if (!HoldsAuthority()) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(office_, admission::AdmissionController::Open(config_.node.data_dir,
                                                                 revocations_, cluster_clock_));
  std::error_code error;
  if (const std::string root =
          (std::filesystem::path(config_.node.data_dir) / admission::kRootKeyFile);
      std::filesystem::exists(root, error)) {
    LogWarning(
        "the key of the cluster's root, {}, is on this machine, where a thief could found the "
        "cluster anew with it; move it to a safe place, because no node needs it",
        root);
  }
  pattern_pool_.Post([this] { RefreshRevocations(); });
  if (LinksArePlain()) {
    LogWarning("nodes cannot join here with a token while federation.tls is off");
    return absl::OkStatus();
  }
  const api::AdmissionDependencies dependencies = {
      .office = office_.get(),
      .tls = link_tls_.get(),
      .files = &pattern_pool_,
      .self = files_->key.id(),
      .on_revoked =
          [this](const privacy::RevocationList& list) { federation_->SetRevocations(list); },
      .joins = &join_counts_};
  link_tls_->gate().AdmitApplicants(
      [this](const privacy::ApplicantCredential& credential, const Digest& tls_key) {
        return office_->Recognizes(credential, tls_key);
      },
      [this](const privacy::AdmissionCert& former) { return office_->MayEndRotation(former); });
  services_.push_back(api::MakeAdmissionService(dependencies));
  link_services_.push_back(services_.back().get());
  services_.push_back(api::MakeAuthorityService(dependencies));
  api_services_.push_back(services_.back().get());
  return absl::OkStatus();
}

void NodeImpl::RefreshRevocations() {
  if (const auto list = office_->RefreshRevocations(); list.ok()) {
    federation_->SetRevocations(*list);
  } else {
    LogError("the revocation list could not be signed again: {}", MessageOf(list.status()));
  }
  WarnIfIssuerEnds();
  pattern_pool_.PostAt(clock_.Now() + limits::kRevocationsLook, [this] { RefreshRevocations(); });
}

void NodeImpl::WarnIfIssuerEnds() {
  constexpr int64_t kMillisPerDay = 24LL * 3600 * 1000;
  const int64_t left_ms = office_->issuer().not_after_ms - cluster_clock_.WallMillis();
  const int64_t days = left_ms / kMillisPerDay;
  if (days < limits::kIssuerWarningDays && issuer_days_ != days) {
    LogWarning(
        "the authority's key {}, and the cluster's certificates end with it; make the next one "
        "with `ruvd cert issuer` and the root's key",
        left_ms > 0 ? fmt::format("is good for {} more days", days) : "is good no more");
  }
  issuer_days_ = days;
}

absl::Status NodeImpl::OpenCertificateRenewer() {
  ASSIGN_OR_RETURN(privacy::AdmissionCert present, LoadCertificate(config_, cluster_clock_));
  admission::CertificateRenewerOptions options{
      .path = CertificatePath(config_),
      .load = [this] { return LoadCertificate(config_, cluster_clock_); },
      .key = &files_->key,
      .clock = &cluster_clock_,
      .office = office_.get(),
      .addresses = {},
      .renew = [this](const std::string& address, const privacy::AdmissionCert& certificate)
          -> absl::StatusOr<privacy::AdmissionCert> {
        ASSIGN_OR_RETURN(admission::Membership renewed,
                         admission::RenewAt(address, certificate, files_->key,
                                            limits::kRenewalPatience, cluster_clock_));
        federation_->SetRevocations(std::move(renewed.revocations));
        return std::move(renewed.certificate);
      },
      .take =
          [this](const privacy::AdmissionCert& certificate) {
            LogInfo("this node now uses a certificate that ends at {:%Y-%m-%d %H:%M:%S} UTC",
                    fmt::gmtime(static_cast<std::time_t>(certificate.not_after_ms / 1000)));
            federation_->SetCertificate(certificate);
            ShowCertificate(certificate);
          },
      .stopped = [this] { return stopping_.load(); }};
  if (!LinksArePlain()) {  // over plain links no authority answers
    options.addresses = config_.federation.seeds;
  }
  {
    const MutexLock lock(certificate_mutex_);
    certificate_ =
        std::make_unique<admission::CertificateRenewer>(std::move(options), std::move(present));
  }
  pattern_pool_.Post([this] { ScheduleCertificateCheck(); });
  return absl::OkStatus();
}

void NodeImpl::ShowCertificate(const privacy::AdmissionCert& certificate) {
  const absl::Status shown =
      link_tls_ == nullptr ? absl::OkStatus() : link_tls_->SetCertificate(certificate);
  if (!shown.ok()) {
    LogError("links show the former certificate: {}; free the disk, and send SIGHUP",
             MessageOf(shown));
  }
}

void NodeImpl::CheckCertificate() {
  // Only one thread waits for the authority; a second check returns at once.
  if (looking_at_certificate_.exchange(true)) {
    return;
  }
  CheckCertificateOnce();
  looking_at_certificate_ = false;
}

void NodeImpl::CheckCertificateOnce() {
  CheckIsolation();
  const MutexLock lock(certificate_mutex_);
  if (certificate_ == nullptr || stopping_.load()) {
    return;
  }
  if (const absl::Status looked = certificate_->CheckCertificate(); !looked.ok()) {
    LogWarning("{} [{}]", MessageOf(looked), ReasonOf(looked));
  }
}

void NodeImpl::ScheduleCertificateCheck() {
  CheckCertificate();
  pattern_pool_.PostAt(clock_.Now() + limits::kCertificateLook,
                       [this] { ScheduleCertificateCheck(); });
}

absl::Status NodeImpl::StartLinkServer() {
  services_.push_back(api::MakeFederationService(
      *federation_, link_tls_.get(),
      [this](std::string_view peer, bool linked) {
        linked ? link_acceptor_->Prove(peer) : link_acceptor_->Unprove(peer);
      },
      link_counts_));
  link_services_.push_back(services_.back().get());
  RETURN_IF_ERROR(OpenAdmissionController());
  RETURN_IF_ERROR(OpenCertificateRenewer());
  ASSIGN_OR_RETURN(
      federation_port_,
      api::StartServer({.listen = config_.federation.listen,
                        .max_message_bytes = limits::kMaxLinkMessageBytes,
                        .services = link_services_,
                        .credentials = LinksArePlain() ? grpc::InsecureServerCredentials()
                                                       : link_tls_->server_credentials(),
                        .connections = limits::kPeerConnections,
                        .max_streams = limits::kMaxPeerStreams,
                        .idle_ms = limits::kPeerIdleMs,
                        .for_clients = false,
                        .call_proves = nullptr,
                        .on_listening = [this](transport::ConnectionAcceptor& acceptor) {
                          link_acceptor_ = &acceptor;
                        }}));
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> NodeImpl::ApiCredentials() {
  const auto& api = config_.api;
  if (api.tls_cert.empty()) {
    return grpc::InsecureServerCredentials();
  }
  RETURN_IF_ERROR(transport::RequireTls13());
  RETURN_IF_ERROR(
      transport::CheckServerCertificate(api.tls_cert, api.tls_key, clock_.WallMillis()));
  auto credentials = transport::ServerCredentials(api.tls_cert, api.tls_key);
  if (callers_->asks_for_keys()) {
    credentials->SetAuthMetadataProcessor(api::MakeKeyProcessor(callers_, HearCalls()));
  }
  return credentials;
}

absl::Status NodeImpl::LoadKeys() {
  if (!config_.api.key_file.empty()) {
    api_keys_ = std::make_shared<transport::ApiKeys>(config_.api.key_file);
    RETURN_IF_ERROR(api_keys_->Reload());
  }
  callers_ = std::make_shared<const api::Callers>(api_keys_, clock_);
  return absl::OkStatus();
}

absl::Status NodeImpl::ReloadCredentials() {
  // Keys are reloaded first, and both steps always run: a full disk must not keep a revoked key
  // valid.
  const absl::Status keys = api_keys_ == nullptr ? absl::OkStatus() : api_keys_->Reload();
  pattern_pool_.Post([this] { CheckCertificate(); });
  const absl::Status rotated = link_tls_ == nullptr ? absl::OkStatus() : link_tls_->Rotate();
  return keys.ok() ? rotated : keys;
}

std::vector<float> NodeImpl::EmbedResponse(const std::string& response_id) {
  const absl::StatusOr<storage::Trajectory> trajectory = trajectories_->Get(response_id);
  if (!trajectory.ok()) {
    return {};
  }
  return serving::EmbeddingOf(*trajectory, *querying_, package_.whitening.get(), package_.id)
      .value_or(std::vector<float>());
}

api::HearCall NodeImpl::HearCalls() {
  return [this](std::string_view endpoint, const absl::Status& status, double seconds) {
    const std::string reason = ReasonOf(status);
    metrics_->RequestEnded(
        endpoint,
        status.ok() ? "OK" : (reason.empty() ? absl::StatusCodeToString(status.code()) : reason),
        seconds);
  };
}

absl::Status NodeImpl::StartServers() {
  if (!transport::HeadersAreGuarded()) {
    LogWarning(
        "this build links a gRPC {} whose headers the node cannot limit, so a caller can keep a "
        "core busy with one endless header; use the packages of deploy/install-deps.sh, or keep "
        "strangers off the ports",
        grpc::Version());
  }
  if (federates_) {
    RETURN_IF_ERROR(StartLinkServer());
  }
  ASSIGN_OR_RETURN(const uint64_t life, storage::StoreIncarnation(*database_));
  pattern_feed_ = std::make_unique<api::PatternFeed>(
      api::PatternFeed::Options{.patterns = patterns_.get(),
                                .executor = &pattern_pool_,
                                .max_streams = limits::kMaxPatternWatches,
                                .page = limits::kPatternWatchPage,
                                .log_id = life});
  api::ServiceDependencies dependencies;
  dependencies.clock = &clock_;
  dependencies.model = model_.get();
  dependencies.package_id = package_.id;
  dependencies.self = files_->key.id();
  dependencies.pattern_feed = pattern_feed_.get();
  dependencies.inference = inference_.get();
  dependencies.learning = learning_.get();
  dependencies.deep = deep_.get();
  dependencies.memory = memory_.get();
  dependencies.patterns = patterns_.get();
  dependencies.frame = frame_.get();
  dependencies.witness = witness_.get();
  dependencies.adapters = catalog_.get();
  const std::optional<HostPort> address = ParseHostPort(config_.api.listen);
  const std::optional<HostPort> http = ParseHostPort(config_.api.http_listen);
  dependencies.paths_are_local =
      !config_.api.allow_remote && address && IsLoopback(address->host) &&
      (config_.api.http_listen.empty() || (http && IsLoopback(http->host)));
  RETURN_IF_ERROR(LoadKeys());
  dependencies.callers = callers_.get();
  dependencies.database = database_.get();
  dependencies.sessions = sessions_.get();
  dependencies.trajectories = trajectories_.get();
  dependencies.lessons = lessons_.get();
  dependencies.observed = observed_.get();
  dependencies.changes = changes_.get();
  dependencies.min_rating = config_.learning.min_rating;
  dependencies.instant = instant_.get();
  dependencies.fence = &fence_;
  dependencies.backup_dir = BackupDirOf(config_);
  dependencies.embed_response = [this](const std::string& id) { return EmbedResponse(id); };
  dependencies.queries = &query_pool_;
  dependencies.pattern_calls = &pattern_pool_;
  dependencies.upkeep = &upkeep_pool_;
  dependencies.backups = &backup_pool_;
  dependencies.stopping = [this] { return stopping_.load(); };
  dependencies.federation = federation_.get();
  dependencies.consents = consents_.get();
  dependencies.fill_status = [this](node::v1::GetStatusResponse* status) { FillStatus(status); };
  for (auto make : {api::MakeInferenceService, api::MakeLearningService, api::MakePatternService,
                    api::MakeWitnessService, api::MakeNodeService, api::MakeStoreService,
                    api::MakeClusterService, api::MakePrivacyService}) {
    services_.push_back(make(dependencies));
    api_services_.push_back(services_.back().get());
  }
  socket_services_ = api_services_;
  services_.push_back(api::MakeAdapterService(dependencies));
  api_services_.push_back(services_.back().get());
  dependencies.paths_are_local = true;  // a caller over the socket is on this machine
  services_.push_back(api::MakeAdapterService(dependencies));
  socket_services_.push_back(services_.back().get());
  ASSIGN_OR_RETURN(auto credentials, ApiCredentials());
  api::ServerOptions options{.listen = config_.api.listen,
                             .max_message_bytes = limits::kMaxApiMessageBytes,
                             .services = api_services_,
                             .credentials = std::move(credentials),
                             .connections = limits::ClientConnectionsWithin(descriptors_),
                             .on_call = HearCalls()};
  if (callers_->asks_for_keys()) {  // a call that needs no key proves nothing
    options.call_proves = [](std::string_view method) { return !api::MayCall(method, 0); };
  }
  ASSIGN_OR_RETURN(api_port_, api::OpenServer(std::move(options)));
  RETURN_IF_ERROR(OpenHttp(dependencies));
  RETURN_IF_ERROR(OpenSocket());
  MakeWatchdog();
  health_ = std::make_unique<HealthReport>(
      [this] { return Parts(); },
      [this](const std::string& service, bool serving) {
        for (const api::RunningServer* port : {&api_port_, &socket_}) {
          if (port->server != nullptr) {
            port->server->GetHealthCheckService()->SetServingStatus(service, serving);
          }
        }
      });
  LookAtHealth();
  RegisterLimits();
  // What a call may ask for is there by now.
  api_port_.Accept();
  if (http_ != nullptr) {
    http_->Accept();
  }
  if (socket_.acceptor != nullptr) {
    socket_.Accept();
  }
  return absl::OkStatus();
}

std::vector<PartHealth> NodeImpl::Parts() const {
  std::vector<PartHealth> parts =
      PartsOf(actors_->Stats(), database_->Health(), isolation(), cluster_clock_.Check());
  if (const absl::Status member =
          link_tls_ == nullptr ? absl::OkStatus() : link_tls_->CheckOwnCertificate();
      !member.ok()) {
    parts.push_back({kMembershipPart, fmt::format("other nodes do not link to this one: {} [{}]",
                                                  MessageOf(member), ReasonOf(member))});
  }
  for (PartHealth& port : watchdog_->Parts()) {
    parts.push_back(std::move(port));
  }
  return parts;
}

void NodeImpl::LookAtHealth() {
  if (stopping_.load()) {
    return;
  }
  health_->Update();
  io_pool_.PostAt(clock_.Now() + limits::kHealthLook, [this] { LookAtHealth(); });
}

}  // namespace ruvd::node
