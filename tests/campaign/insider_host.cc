// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/campaign/insider_host.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/service_type.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <future>
#include <utility>
#include <variant>

#include "base/clock.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/admission/identity.h"
#include "node/admission/link_gate.h"
#include "node/admission/node_key_files.h"
#include "node/admission/revocation_file.h"
#include "node/api/connection_limits.h"
#include "node/config/config.h"
#include "node/limits.h"
#include "node/process/node_files.h"
#include "privacy/consent/consent.h"
#include "privacy/sodium.h"
#include "ruvd/federation/v1/federation.pb.h"
#include "tests/node/process/peer_config.h"

namespace ruvd::campaign {
namespace {

constexpr Duration kTick = std::chrono::milliseconds(200);
// What a stream holds at a time: half of what it may hold before it ends itself.
constexpr size_t kMostFramesInSink = limits::kMaxLinkQueue / 2;
constexpr size_t kMostBytesInSink = limits::kMaxLinkQueueBytes / 2;
// Frames that wait for one link; one more is dropped, so that a slow victim costs no memory.
constexpr size_t kMostWaiting = 8192;
constexpr int64_t kMillisPerSecond = 1000;
// The values of its patterns' cores, so that these are within the rules.
constexpr double kCoreSize = 0.01;

absl::StatusOr<config::NodeConfig> ConfigOf(const InsiderOptions& options) {
  const auto file = std::filesystem::path(options.data_dir) / admission::kConfigFile;
  return config::LoadConfig(
      file, {}, {{"model.path", options.model}, {"node.data_dir", options.data_dir}}, nullptr);
}

absl::StatusOr<privacy::AdmissionCert> CertificateOf(const std::string& data_dir) {
  if (auto certificate = admission::LoadStoredCertificate(data_dir)) {
    return *std::move(certificate);
  }
  return Error(absl::StatusCode::kNotFound, reasons::kFileNotFound,
               "{} has no good certificate; make one with `ruvd join --data-dir {}`", data_dir,
               data_dir);
}

}  // namespace

InsiderHost::InsiderHost(privacy::NodeKey key, std::unique_ptr<test::Adversary> adversary,
                         const InsiderOptions& options)
    : key_(std::move(key)),
      adversary_(std::move(adversary)),
      victims_(options.victims),
      random_(options.seed) {}

absl::StatusOr<std::unique_ptr<InsiderHost>> InsiderHost::Start(
    const InsiderOptions& options, std::unique_ptr<test::Adversary> adversary) {
  RETURN_IF_ERROR(transport::RequireTls13());
  ASSIGN_OR_RETURN(const config::NodeConfig node, ConfigOf(options));
  ASSIGN_OR_RETURN(privacy::AdmissionCert certificate, CertificateOf(options.data_dir));
  ASSIGN_OR_RETURN(privacy::NodeKey key, admission::LoadNodeKey(options.data_dir, SystemClock()));
  std::unique_ptr<InsiderHost> host(new InsiderHost(std::move(key), std::move(adversary), options));
  ASSIGN_OR_RETURN(host->config_, node::MakePeerConfig(node, std::move(certificate)));
  // It has no store that counts its starts; two starts in one second would equivocate.
  host->config_.boot_counter = static_cast<uint64_t>(SystemClock().WallMillis() / kMillisPerSecond);
  host->config_.seeds = options.victims;
  auto gate =
      std::make_shared<admission::LinkGate>(host->config_.certificate.issuer.root, SystemClock());
  ASSIGN_OR_RETURN(host->tls_, admission::LinkTls::Create({.path = node::LinkTlsPathOf(node),
                                                           .certificate = host->config_.certificate,
                                                           .key = &host->key_,
                                                           .gate = std::move(gate)}));
  RETURN_IF_ERROR(host->Listen(options.listen));
  host->adversary_->Configure(host->config_);
  RETURN_IF_ERROR(host->Begin());
  return host;
}

absl::Status InsiderHost::Listen(const std::string& listen) {
  service_ = api::MakeFederationService(
      *this, tls_.get(),
      [this](std::string_view peer, bool linked) {
        linked ? acceptor_->Prove(peer) : acceptor_->Unprove(peer);
      },
      link_counts_);
  ASSIGN_OR_RETURN(
      server_, api::OpenServer({.listen = listen,
                                .max_message_bytes = limits::kMaxLinkMessageBytes,
                                .services = {service_.get()},
                                .credentials = tls_->server_credentials(),
                                .connections = limits::kPeerConnections,
                                .max_streams = limits::kMaxPeerStreams,
                                .idle_ms = limits::kPeerIdleMs,
                                .for_clients = false,
                                .call_proves = nullptr,
                                .on_listening = [this](transport::ConnectionAcceptor& acceptor) {
                                  acceptor_ = &acceptor;
                                }}));
  config_.listen_address = server_.address;
  return absl::OkStatus();
}

absl::Status InsiderHost::Begin() {
  ASSIGN_OR_RETURN(core_, federation::GossipCore::Create(config_, key_, privacy::SecureRandomBytes,
                                                         random_.Next(), now()));
  // Its own core lets it share all that it likes.
  ASSIGN_OR_RETURN(
      const federation::Actions consented,
      core_->SetConsent(
          privacy::ConsentRecord::Sign(privacy::ConsentTier::kPublic, now().wall_ms, key_), now()));
  dialer_.Bind(*this, tls_.get(), link_counts_);
  strand_.Post([this, consented] {
    Apply(consented);
    Tick();
  });
  server_.Accept();
  return absl::OkStatus();
}

InsiderHost::~InsiderHost() {
  server_.Shutdown(std::chrono::system_clock::now());
  dialer_.Shutdown();
  strand_.Shutdown();
  links_.clear();  // their streams may still hold frames that tell the strand of their end
}

InsiderCounts InsiderHost::Counts() {
  std::promise<InsiderCounts> counts;
  strand_.Post([&] {
    InsiderCounts present = counts_;
    present.links = open_links_.size();
    present.members_alive = static_cast<size_t>(std::ranges::count_if(
        core_->Members(), [](const federation::Member& member) { return member.counts(); }));
    counts.set_value(std::move(present));
  });
  return counts.get_future().get();
}

federation::LinkId InsiderHost::OpenLink(std::shared_ptr<sharing::LinkSink> sink,
                                         std::string address, federation::LinkChannel channel) {
  const federation::LinkId id = next_link_++;
  strand_.Post([this, id, sink = std::move(sink), address = std::move(address), channel] {
    links_[id].sink = sink;
    Apply(core_->OnLinkOpened(id, address, now(), channel));
  });
  return id;
}

void InsiderHost::OnDialFailed(std::string address) {
  strand_.Post([this, address = std::move(address)] {
    ++counts_.dials_failed;
    Apply(core_->OnDialFailed(address, now()));
  });
}

bool InsiderHost::OnFrame(federation::LinkId link, FramePtr frame) {
  strand_.Post([this, link, frame = std::move(frame)] {
    if (frame == nullptr) {
      Apply(core_->OnBadFrame(link, now()));
    } else if (adversary_->OnReceive(*this, link, frame)) {
      Apply(core_->OnFrame(link, *frame, now()));
    }
  });
  return true;
}

void InsiderHost::OnClosed(federation::LinkId link) {
  strand_.Post([this, link] {
    Forget(link);
    Apply(core_->OnLinkClosed(link, now()));
  });
}

void InsiderHost::Tick() {
  Apply(core_->OnTick(now()));
  adversary_->OnTick(*this);
  strand_.PostAt(SystemClock().Now() + kTick, [this] { Tick(); });
}

void InsiderHost::Apply(const federation::Actions& actions) {
  for (const federation::Action& action : actions) {
    if (const auto* send = std::get_if<federation::SendFrame>(&action)) {
      adversary_->OnSend(*this, send->link, send->frame);
    } else if (const auto* close = std::get_if<federation::CloseLink>(&action)) {
      ++counts_.own_closes[ReasonOf(close->status)];
      Forget(close->link);
    } else if (const auto* identified = std::get_if<federation::LinkIdentified>(&action)) {
      if (const auto link = links_.find(identified->link); link != links_.end()) {
        ++counts_.links_opened;
        open_links_.insert(identified->link);
        link->second.sink->OnIdentified();
      }
    } else if (const auto* dial = std::get_if<federation::Dial>(&action)) {
      DialAddress(dial->address);
    }
  }
}

std::optional<std::string> InsiderHost::SomeAddress() {
  return victims_[random_.Below(victims_.size())];
}

void InsiderHost::DialAddress(const std::string& address) {
  ++counts_.dials;
  dialer_.Dial(address);
}

void InsiderHost::SendFrame(federation::LinkId link, FramePtr frame) {
  const auto found = links_.find(link);
  if (found == links_.end()) {
    return;  // it has ended
  }
  if (found->second.waiting.size() >= kMostWaiting) {
    ++counts_.frames_dropped;
    return;
  }
  found->second.waiting.push_back(std::move(frame));
  Fill(link);
}

void InsiderHost::Fill(federation::LinkId id) {
  const auto found = links_.find(id);
  if (found == links_.end()) {
    return;
  }
  Link& link = found->second;
  while (!link.waiting.empty() && link.frames_in_sink < kMostFramesInSink &&
         link.bytes_in_sink < kMostBytesInSink) {
    const FramePtr frame = std::move(link.waiting.front());
    link.waiting.pop_front();
    const size_t bytes = frame->ByteSizeLong();
    ++link.frames_in_sink;
    link.bytes_in_sink += bytes;
    ++counts_.frames_sent;
    counts_.bytes_sent += bytes;
    // The stream releases a frame once it is written.
    link.sink->Send(FramePtr(frame.get(), [this, id, bytes, frame](const auto*) {
      strand_.Post([this, id, bytes] { Left(id, bytes); });
    }));
  }
}

void InsiderHost::Left(federation::LinkId id, size_t bytes) {
  if (const auto link = links_.find(id); link != links_.end()) {
    --link->second.frames_in_sink;
    link->second.bytes_in_sink -= bytes;
    Fill(id);
  }
}

void InsiderHost::Forget(federation::LinkId id) {
  open_links_.erase(id);
  const auto found = links_.find(id);
  if (found != links_.end()) {
    ++counts_.links_closed;
    const std::shared_ptr<sharing::LinkSink> sink = std::move(found->second.sink);
    links_.erase(found);
    sink->Close();
  }
}

void InsiderHost::SendBytes(federation::LinkId link, const std::string& bytes) {
  auto frame = std::make_shared<federation::v1::WireFrame>();
  if (frame->ParseFromString(bytes)) {
    SendFrame(link, std::move(frame));
  } else {
    ++counts_.not_frames;
  }
}

federation::SharedPattern InsiderHost::SomePattern() {
  federation::SharedPattern pattern;
  std::ranges::generate(pattern.id, [this] { return static_cast<uint8_t>(random_.Next()); });
  pattern.task = "chat";
  pattern.quality = 0.75F;
  pattern.examples = 3;
  pattern.created_ms = now().wall_ms;
  double square = 0;
  for (uint32_t i = 0; i < config_.pattern_rules.dimension; ++i) {
    pattern.centroid.push_back(static_cast<float>(random_.Normal()));
    square += double{pattern.centroid.back()} * pattern.centroid.back();
  }
  for (float& value : pattern.centroid) {
    value = static_cast<float>(value / std::sqrt(square));
  }
  // With cores for its adapter it has to be tried before it is refused.
  for (const auto& [target, rank] : config_.pattern_rules.cores.rank_of_target) {
    std::vector<float> values(size_t{rank} * rank);
    for (float& value : values) {
      value = static_cast<float>(kCoreSize * random_.Normal());
    }
    pattern.cores.push_back(
        {.target = target, .bank = 0, .rank = rank, .values = inference::ToGrid(values)});
  }
  return pattern;
}

absl::Status InsiderHost::OfferPattern(const federation::SharedPattern& pattern) {
  auto offered = core_->OfferPattern(pattern, now());
  if (!offered.ok()) {
    ++counts_.patterns_refused;
    return offered.status();
  }
  ++counts_.patterns_offered;
  Apply(*offered);
  return absl::OkStatus();
}

void InsiderHost::NoteSigned(const Digest& /*id*/, const std::string& /*payload*/) {
  ++counts_.items_signed;
}

}  // namespace ruvd::campaign
