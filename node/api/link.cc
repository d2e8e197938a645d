// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/link.h"

#include <grpc/support/time.h>
#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"
#include "node/api/connection_limits.h"
#include "node/api/link_frames.h"
#include "node/api/rpc_status.h"
#include "node/limits.h"
#include "node/log/log.h"
#include "node/transport/callback_queue.h"
#include "node/transport/peer_address.h"
#include "ruvd/federation/v1/federation.grpc.pb.h"

namespace ruvd::api {
namespace {

using federation::v1::FederationService;
using federation::v1::WireFrame;

// Frames for which the actor has no time never fill its mailbox, so a peer that sends too much
// costs no other peer its link.
static_assert((limits::kPeerConnections.connections + limits::kMaxLinks) *
                  limits::kMaxLinkFramesWaiting <
              limits::kFederationMailbox);

// The common part of both ends of a stream. `Link` is a reactor with Cancel, EndStream and
// StartRead.
template <typename Link>
class LinkStream : public sharing::LinkSink, public std::enable_shared_from_this<Link> {
 public:
  void Send(std::shared_ptr<const WireFrame> frame) override { Do(queue_.Push(std::move(frame))); }
  void Close() override { Do(queue_.Close()); }

 protected:
  // NOLINTNEXTLINE(bugprone-crtp-constructor-accessibility): both users stand below in this file.
  LinkStream(sharing::LinkHandler& federation, LinkCounts& counts)
      : federation_(federation), window_(counts), counts_(counts), queue_(counts) {}

  void FrameArrived(bool ok, federation::LinkId id) {
    if (!ok) {
      Close();
      return;
    }
    window_.FrameRead();
    counts_.CountIn(incoming_.ByteSizeLong());
    // The actor releases a frame once it has handled it.
    const std::shared_ptr<const WireFrame> frame(
        new WireFrame(std::move(incoming_)),
        [self = this->shared_from_this()](const WireFrame* handled) {
          delete handled;
          self->window_.FrameHandled([&self] { self->link().StartRead(&self->incoming_); });
        });
    incoming_.Clear();
    if (!federation_.OnFrame(id, frame)) {
      Close();
      return;
    }
    if (window_.MayRead()) {
      link().StartRead(&incoming_);
    }
  }
  void WriteEnded(bool ok) { Do(queue_.WriteDone(ok)); }

  sharing::LinkHandler& federation_;
  WireFrame incoming_;
  ReadWindow window_;

 private:
  Link& link() { return static_cast<Link&>(*this); }
  void Do(FrameQueue::Next next) {
    if (next.linger) {
      alarm_.Set(gpr_time_from_seconds(limits::kLinkLinger.count(), GPR_TIMESPAN),
                 [weak = this->weak_from_this()](bool due) {
                   if (const std::shared_ptr<Link> self = weak.lock(); due && self != nullptr) {
                     self->Cancel();
                   }
                 });
    }
    if (next.write != nullptr) {
      link().StartWrite(next.write);
    } else if (next.end) {
      window_.Stop();
      link().EndStream();
    }
  }

  LinkCounts& counts_;
  FrameQueue queue_;
  grpc::Alarm alarm_;  // set once, when closing begins
};

// `peer` is what gRPC calls the other end.
federation::LinkChannel ChannelOf(const admission::LinkTls* tls, const grpc::AuthContext& context,
                                  const std::string& peer) {
  federation::LinkChannel channel =
      tls == nullptr ? federation::LinkChannel{} : tls->ChannelOf(context);
  if (const auto address = transport::ParsePeer(peer)) {
    channel.source = transport::SourceOf(*address);
  }
  return channel;
}

class ServerLink final : public grpc::ServerBidiReactor<WireFrame, WireFrame>,
                         public LinkStream<ServerLink> {
 public:
  // Hears once that the link has ended, and whether its peer was a member.
  using Ended = std::function<void(const std::string& peer, bool member)>;
  static ServerLink* Start(sharing::LinkHandler& federation, const admission::LinkTls* tls,
                           const OnMember& on_member, LinkCounts& counts, Ended ended,
                           grpc::CallbackServerContext* context) {
    std::shared_ptr<ServerLink> link(
        new ServerLink(federation, on_member, counts, std::move(ended), context));
    link->self_ = link;
    link->StartSendInitialMetadata();  // tells the dialling side that the link is open
    link->id_ =
        federation.OpenLink(link, "", ChannelOf(tls, *context->auth_context(), link->peer_));
    link->StartRead(&link->incoming_);
    return link.get();
  }

  void OnReadDone(bool ok) override { FrameArrived(ok, id_); }
  void OnWriteDone(bool ok) override { WriteEnded(ok); }
  void OnCancel() override { Close(); }
  void OnDone() override {
    bool member = false;
    {
      MutexLock lock(mutex_);
      context_ = nullptr;  // belongs to gRPC and is gone after this
      member = member_;
    }
    federation_.OnClosed(id_);
    ended_(peer_, member);
    self_.reset();
  }

  void OnIdentified() override {
    MutexLock lock(mutex_);
    // Once the link has ended, nothing would take the proof back.
    if (context_ != nullptr) {
      member_ = true;
      on_member_(peer_, /*linked=*/true);
    }
  }

  void Cancel() {
    MutexLock lock(mutex_);
    if (context_ != nullptr) {
      context_->TryCancel();
    }
  }
  void EndStream() { Finish(grpc::Status::OK); }

 private:
  ServerLink(sharing::LinkHandler& federation, OnMember on_member, LinkCounts& counts, Ended ended,
             grpc::CallbackServerContext* context)
      : LinkStream(federation, counts),
        on_member_(std::move(on_member)),
        ended_(std::move(ended)),
        peer_(context->peer()),
        context_(context) {}

  const OnMember on_member_;
  const Ended ended_;
  const std::string peer_;
  std::shared_ptr<ServerLink> self_;
  federation::LinkId id_ = 0;
  Mutex mutex_;
  grpc::CallbackServerContext* context_ ABSL_GUARDED_BY(mutex_);
  bool member_ ABSL_GUARDED_BY(mutex_) = false;  // the peer has proved that it is one
};

// Ends a call at once.
class RefusedLink final : public grpc::ServerBidiReactor<WireFrame, WireFrame> {
 public:
  explicit RefusedLink(const absl::Status& why) { Finish(ToRpcStatus(why)); }
  void OnDone() override { delete this; }
};

class FederationServiceImpl final : public FederationService::CallbackService {
 public:
  FederationServiceImpl(sharing::LinkHandler& federation, const admission::LinkTls* tls,
                        OnMember on_member, LinkCounts& counts)
      : federation_(federation), counts_(counts), tls_(tls), on_member_(std::move(on_member)) {}
  grpc::ServerBidiReactor<WireFrame, WireFrame>* Link(
      grpc::CallbackServerContext* context) override {
    if (tls_ != nullptr && !tls_->IsMember(*context->auth_context())) {
      return new RefusedLink(
          Error(absl::StatusCode::kPermissionDenied, reasons::kCertificateInvalid,
                "neither a join token nor a key that was replaced opens links; join, and start the "
                "node with its newest certificate"));
    }
    {
      const MutexLock lock(mutex_);
      if (!linked_.insert(context->peer()).second) {
        counts_.of_connection.Refuse();
        return new RefusedLink(
            Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                  "this connection has a link already; open another connection"));
      }
    }
    return ServerLink::Start(
        federation_, tls_, on_member_, counts_,
        [this](const std::string& peer, bool member) { LinkEnded(peer, member); }, context);
  }

 private:
  sharing::LinkHandler& federation_;
  LinkCounts& counts_;
  void LinkEnded(const std::string& peer, bool member) {
    if (member) {
      on_member_(peer, /*linked=*/false);
    }
    const MutexLock lock(mutex_);
    linked_.erase(peer);
  }

  const admission::LinkTls* tls_;
  const OnMember on_member_;
  Mutex mutex_;
  std::set<std::string> linked_ ABSL_GUARDED_BY(mutex_);  // connections that have a link
};

class ClientLink final : public grpc::ClientBidiReactor<WireFrame, WireFrame>,
                         public LinkStream<ClientLink> {
 public:
  // `failure` says why the link never opened; null if it was open.
  using Ended = std::function<void(ClientLink*, const grpc::Status* failure)>;
  using Opened = std::function<void()>;
  // Makes a link that is not started yet. It lives until gRPC is done with it, and then calls
  // `ended`.
  static ClientLink* Make(sharing::LinkHandler& federation, const admission::LinkTls* tls,
                          LinkCounts& counts, const std::string& address, Opened opened,
                          Ended ended) {
    std::shared_ptr<ClientLink> link(
        new ClientLink(federation, tls, counts, address, std::move(opened), std::move(ended)));
    link->self_ = link;
    link->stub_->async()->Link(&link->context_, link.get());
    return link.get();
  }
  void Run() { StartCall(); }
  void Cancel() { context_.TryCancel(); }
  void EndStream() {
    // Closes one direction only, so that a last Goaway still arrives; the other side then finishes
    // the stream.
    StartWritesDone();
    RemoveHold();
  }

  void OnReadInitialMetadataDone(bool ok) override {
    if (!ok) {
      return;  // OnDone follows
    }
    opened_();
    AddHold();  // Send may be called from any thread until Close
    id_ = federation_.OpenLink(self_, address_,
                               ChannelOf(tls_, *context_.auth_context(), context_.peer()));
    StartRead(&incoming_);
  }
  void OnReadDone(bool ok) override { FrameArrived(ok, id_); }
  void OnWriteDone(bool ok) override { WriteEnded(ok); }
  void OnDone(const grpc::Status& status) override {
    if (id_ == 0) {
      federation_.OnDialFailed(address_);
    } else {
      federation_.OnClosed(id_);
    }
    const std::shared_ptr<ClientLink> self = std::move(self_);
    ended_(this, id_ == 0 ? &status : nullptr);
  }

 private:
  ClientLink(sharing::LinkHandler& federation, const admission::LinkTls* tls, LinkCounts& counts,
             const std::string& address, Opened opened, Ended ended)
      : LinkStream(federation, counts),
        opened_(std::move(opened)),
        ended_(std::move(ended)),
        tls_(tls),
        address_(address),
        channel_(grpc::CreateCustomChannel(
            address,
            tls == nullptr ? grpc::InsecureChannelCredentials() : tls->channel_credentials(),
            ChannelArguments())),
        stub_(FederationService::NewStub(channel_)) {}

  static grpc::ChannelArguments ChannelArguments() {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(limits::kMaxLinkMessageBytes);
    // Each link has its own connection, because the gossip core decides about reconnection and
    // backoff.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetSslTargetNameOverride(transport::kSelfSignedName);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    return arguments;
  }

  const Opened opened_;
  const Ended ended_;
  const admission::LinkTls* const tls_;
  const std::string address_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<FederationService::Stub> stub_;
  grpc::ClientContext context_;
  std::shared_ptr<ClientLink> self_;
  federation::LinkId id_ = 0;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeFederationService(sharing::LinkHandler& federation,
                                                     const admission::LinkTls* tls,
                                                     OnMember on_member, LinkCounts& counts) {
  return std::make_unique<FederationServiceImpl>(federation, tls, std::move(on_member), counts);
}

struct LinkDialer::State {
  // Most addresses for which a node that never linked logs a warning, once each.
  static constexpr size_t kMaxSilentAddresses = 64;

  Mutex mutex;
  CondVar idle;
  sharing::LinkHandler* federation ABSL_GUARDED_BY(mutex) = nullptr;
  const admission::LinkTls* tls ABSL_GUARDED_BY(mutex) = nullptr;
  LinkCounts* counts ABSL_GUARDED_BY(mutex) = nullptr;
  std::vector<std::string> early ABSL_GUARDED_BY(mutex);  // dialled before Bind
  std::set<ClientLink*> links ABSL_GUARDED_BY(mutex);
  bool closed ABSL_GUARDED_BY(mutex) = false;
  bool linked ABSL_GUARDED_BY(mutex) = false;           // whether a link was ever open
  std::set<std::string> silent ABSL_GUARDED_BY(mutex);  // addresses that a warning named

  // An absent peer is normal. A node that never links to any peer probably has wrong seeds, or TLS
  // is off on one side only.
  void RecordFailure(const std::string& address, const grpc::Status& failure)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    if (!closed && !linked && silent.size() < kMaxSilentAddresses &&
        silent.insert(address).second) {
      LogWarning(
          "no node answers at {}: {}; this node keeps trying. Check federation.seeds here, "
          "federation.listen there, that federation.tls is the same on both nodes, and in the log "
          "of that node whether it refused this one",
          address, failure.error_message());
    } else {
      LogDebug("no link to {}: {}", address, failure.error_message());
    }
  }
};

LinkDialer::LinkDialer() : state_(std::make_shared<State>()) {
  transport::RetainCallbackQueue();
}

LinkDialer::~LinkDialer() {
  Shutdown();
}

void LinkDialer::Bind(sharing::LinkHandler& federation, const admission::LinkTls* tls,
                      LinkCounts& counts) {
  std::vector<std::string> early;
  {
    MutexLock lock(state_->mutex);
    state_->federation = &federation;
    state_->tls = tls;
    state_->counts = &counts;
    early.swap(state_->early);
  }
  for (const std::string& address : early) {
    Dial(address);
  }
}

void LinkDialer::Dial(const std::string& address) {
  ClientLink* link = nullptr;
  {
    MutexLock lock(state_->mutex);
    if (state_->closed) {
      return;
    }
    if (state_->federation == nullptr) {
      state_->early.push_back(address);
      return;
    }
    link = ClientLink::Make(
        *state_->federation, state_->tls, *state_->counts, address,
        [state = state_] {
          MutexLock inner(state->mutex);
          state->linked = true;
        },
        [state = state_, address](ClientLink* ended, const grpc::Status* failure) {
          MutexLock inner(state->mutex);
          state->links.erase(ended);
          if (failure != nullptr) {
            state->RecordFailure(address, *failure);
          }
          state->idle.NotifyAll();
        });
    state_->links.insert(link);
  }
  link->Run();
}

void LinkDialer::Shutdown() {
  MutexLock lock(state_->mutex);
  state_->closed = true;
  for (ClientLink* link : state_->links) {
    link->Cancel();
  }
  while (!state_->links.empty()) {
    state_->idle.Wait(state_->mutex);
  }
}

}  // namespace ruvd::api
