// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/local/tour/link_probe.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cmath>
#include <deque>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/core/gossip_core.h"
#include "inference/package/model_package.h"
#include "node/admission/link_tls.h"
#include "node/config/config.h"
#include "node/process/limits.h"
#include "privacy/consent/consent.h"
#include "privacy/sodium.h"
#include "ruvd/federation/v1/federation.grpc.pb.h"

namespace ruvd::cli {
namespace {

using LinkFrame = federation::v1::WireFrame;
using std::chrono::milliseconds;

constexpr federation::LinkId kLink = 1;
constexpr std::chrono::seconds kPatience(20);
constexpr milliseconds kTick(100);
constexpr int64_t kCertificateMillis = 3600 * 1000;
// This byte is in the nonce of the signed header, so every field still parses and only the
// signature is wrong.
constexpr size_t kForgedByte = 140;

absl::StatusOr<federation::GossipConfig> ConfigOfProbe(const privacy::ClusterAuthority& authority,
                                                       const privacy::NodeKey& key,
                                                       const std::string& model_path) {
  ASSIGN_OR_RETURN(const inference::ModelPackage package, inference::LoadModelPackage(model_path));
  const auto& model = package.model;
  if (package.frame == nullptr) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kFrameMismatch,
                 "the model {} has no frame file beside it, which the probe needs to link as a "
                 "node would; make one with `ruvd model frame --model {} --text FILE`",
                 model_path, model_path);
  }
  federation::GossipConfig config;
  const int64_t now = SystemClock().WallMillis();
  ASSIGN_OR_RETURN(config.certificate, authority.Issue({.node_key = key.public_key(),
                                                        .name = "probe",
                                                        .roles = privacy::roles::kMember,
                                                        .not_before_ms = now,
                                                        .not_after_ms = now + kCertificateMillis,
                                                        .serial = 1}));
  config.model_hash = package.id;
  config.frame_id = package.frame->id;
  config.pattern_rules.dimension = static_cast<uint32_t>(model->config().width);
  return config;
}

federation::SharedPattern HarmlessPattern(uint32_t dimension) {
  federation::SharedPattern pattern;
  privacy::SecureRandomBytes(pattern.id);
  pattern.task = "tour";
  pattern.examples = 1;
  pattern.created_ms = SystemClock().WallMillis();
  pattern.centroid.assign(dimension, 1.0F / std::sqrt(static_cast<float>(dimension)));
  return pattern;
}

}  // namespace

struct LinkProbe::State {
  State(const std::string& address, const privacy::PublicKey& issuer, privacy::NodeKey own,
        transport::TlsCertificate own_tls)
      : key(std::move(own)),
        certificate(std::move(own_tls)),
        channel(Connect(address, issuer, certificate)),
        stub(channel),
        stream(stub.Link(&context)) {
    stream->WaitForInitialMetadata();  // returns on a failed connection too, which the reader then
                                       // notices
    reader = std::thread([this] { ReadAll(); });
  }
  ~State() {
    context.TryCancel();
    reader.join();
  }

  static std::shared_ptr<grpc::Channel> Connect(const std::string& address,
                                                const privacy::PublicKey& issuer,
                                                const transport::TlsCertificate& own) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection may have one link
    arguments.SetSslTargetNameOverride(transport::kSelfSignedName);
    return grpc::CreateCustomChannel(
        address,
        admission::LinkCredentials(own,
                                   std::make_shared<admission::LinkGate>(issuer, SystemClock())),
        arguments);
  }

  federation::LinkChannel Channel() const {
    return {.peer_certificate = transport::PeerCertificateOf(*context.auth_context()),
            .own_certificates = {certificate.hash}};
  }

  void ReadAll() {
    LinkFrame frame;
    bool more = true;
    while (more) {
      more = stream->Read(&frame);
      MutexLock lock(mutex);
      closed = !more;
      if (more) {
        frames.push_back(std::move(frame));
      }
      arrived.NotifyAll();
    }
  }

  // Sets the next frame of the peer, or null after a tick. Returns false once the link is closed.
  bool Next(std::unique_ptr<LinkFrame>* frame) {
    MutexLock lock(mutex);
    if (frames.empty() && !closed) {
      arrived.WaitUntil(mutex, std::chrono::steady_clock::now() + kTick);
    }
    if (!frames.empty()) {
      *frame = std::make_unique<LinkFrame>(std::move(frames.front()));
      frames.pop_front();
      return true;
    }
    return !closed;
  }

  absl::Status Write(const LinkFrame& frame) {
    if (stream->Write(frame)) {
      return absl::OkStatus();
    }
    return Error(absl::StatusCode::kUnavailable, reasons::kNodeUnreachable,
                 "the node closed the link of the probe; see the node's log");
  }

  absl::Status Perform(const federation::Actions& actions) {
    for (const federation::Action& action : actions) {
      if (const auto* send = std::get_if<federation::SendFrame>(&action)) {
        if (send->frame->has_push()) {
          own_push = *send->frame;
        }
        RETURN_IF_ERROR(Write(*send->frame));
      } else if (const auto* close = std::get_if<federation::CloseLink>(&action)) {
        return Annotate(close->status, "the link of the probe closed");
      }
    }
    return absl::OkStatus();
  }

  // Takes part in the protocol until `done` returns true or the deadline passes.
  absl::Status RunUntil(const std::function<bool()>& done) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!done()) {
      std::unique_ptr<LinkFrame> frame;
      if (!Next(&frame) || std::chrono::steady_clock::now() > deadline) {
        return Error(absl::StatusCode::kDeadlineExceeded, reasons::kDeadlineExceeded,
                     "the probe was not linked within {} s", kPatience.count());
      }
      const federation::Instant now = federation::Instant::Of(SystemClock());
      RETURN_IF_ERROR(
          Perform(frame != nullptr ? core->OnFrame(kLink, *frame, now) : core->OnTick(now)));
    }
    return absl::OkStatus();
  }

  const privacy::NodeKey key;
  std::unique_ptr<federation::GossipCore> core;
  LinkFrame own_push;

  const transport::TlsCertificate certificate;
  grpc::ClientContext context;
  std::shared_ptr<grpc::Channel> channel;
  federation::v1::FederationService::Stub stub;
  std::unique_ptr<grpc::ClientReaderWriter<LinkFrame, LinkFrame>> stream;
  Mutex mutex;
  CondVar arrived;
  std::deque<LinkFrame> frames ABSL_GUARDED_BY(mutex);
  bool closed ABSL_GUARDED_BY(mutex) = false;
  std::thread reader;
};

LinkProbe::LinkProbe(std::unique_ptr<State> state) : state_(std::move(state)) {}
LinkProbe::~LinkProbe() = default;

absl::StatusOr<std::unique_ptr<LinkProbe>> LinkProbe::Open(
    const std::string& address, const privacy::ClusterAuthority& authority,
    const std::string& model) {
  RETURN_IF_ERROR(transport::RequireTls13());
  privacy::NodeKey key = privacy::NodeKey::Generate();
  ASSIGN_OR_RETURN(federation::GossipConfig config, ConfigOfProbe(authority, key, model));
  ASSIGN_OR_RETURN(transport::TlsCertificate tls,
                   admission::MakeMemberTls(config.certificate, key));
  std::unique_ptr<LinkProbe> probe(new LinkProbe(
      std::make_unique<State>(address, authority.public_key(), std::move(key), std::move(tls))));
  State& state = *probe->state_;
  const federation::SharedPattern pattern = HarmlessPattern(config.pattern_rules.dimension);
  const federation::Instant now = federation::Instant::Of(SystemClock());
  ASSIGN_OR_RETURN(state.core, federation::GossipCore::Create(std::move(config), state.key,
                                                              privacy::SecureRandomBytes,
                                                              /*seed=*/1, now));
  RETURN_IF_ERROR(state.Perform(state.core->OnLinkOpened(kLink, address, now, state.Channel())));
  RETURN_IF_ERROR(state.RunUntil([&] { return state.core->active_links() == 1; }));
  ASSIGN_OR_RETURN(
      const federation::Actions consented,
      state.core->SetConsent(
          privacy::ConsentRecord::Sign(privacy::ConsentTier::kPublic, now.wall_ms, state.key),
          now));
  RETURN_IF_ERROR(state.Perform(consented));
  ASSIGN_OR_RETURN(const federation::Actions offered,
                   state.core->OfferPattern(pattern, federation::Instant::Of(SystemClock())));
  RETURN_IF_ERROR(state.Perform(offered));
  RETURN_IF_ERROR(state.RunUntil(
      [&] { return state.own_push.has_push() && state.core->counters().payload_bytes_sent > 0; }));
  return probe;
}

absl::Status LinkProbe::SendForged() {
  LinkFrame frame = state_->own_push;
  std::string& header = *frame.mutable_push()->mutable_envelope()->mutable_header();
  RUVD_CHECK(header.size() > kForgedByte);
  header[kForgedByte] = static_cast<char>(header[kForgedByte] ^ 1);
  return state_->Write(frame);
}

absl::Status LinkProbe::SendReplayed() {
  return state_->Write(state_->own_push);
}

absl::Status LinkProbe::SendTruncated() {
  LinkFrame frame = state_->own_push;
  std::string& header = *frame.mutable_push()->mutable_envelope()->mutable_header();
  header.resize(header.size() / 2);
  return state_->Write(frame);
}

}  // namespace ruvd::cli
