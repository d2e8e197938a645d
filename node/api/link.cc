// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/link.h"

#include <deque>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "node/limits.h"
#include "ruvd/federation/v1/federation.grpc.pb.h"

namespace ruvd {
namespace {

using federation::v1::FederationService;
using federation::v1::Frame;

// The queue of frames of one link, whichever side dialled: at most one write in flight, frames in
// order. The reactor that owns it passes its StartWrite and its way to end the stream.
class FrameQueue {
 public:
  // What the owner has to do next, outside the lock.
  struct Next {
    const Frame* write = nullptr;  // stays alive until WriteDone
    bool end = false;
  };

  Next Push(std::shared_ptr<const Frame> frame) {
    MutexLock lock(mutex_);
    if (closing_) {
      return {};
    }
    if (frames_.size() >= limits::kMaxLinkQueue) {
      closing_ = true;
      frames_.erase(frames_.begin() + (writing_ ? 1 : 0), frames_.end());
      return Advance();
    }
    frames_.push_back(std::move(frame));
    return Advance();
  }
  Next Close() {
    MutexLock lock(mutex_);
    closing_ = true;
    return Advance();
  }
  Next WriteDone(bool ok) {
    MutexLock lock(mutex_);
    writing_ = false;
    frames_.pop_front();
    if (!ok) {
      closing_ = true;
      frames_.clear();
    }
    return Advance();
  }

 private:
  Next Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (writing_ || ended_) {
      return {};
    }
    if (!frames_.empty()) {
      writing_ = true;
      return {.write = frames_.front().get()};
    }
    if (closing_) {
      ended_ = true;
      return {.end = true};
    }
    return {};
  }

  Mutex mutex_;
  std::deque<std::shared_ptr<const Frame>> frames_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

class ServerLink final : public grpc::ServerBidiReactor<Frame, Frame>, public LinkSink {
 public:
  static ServerLink* Start(FederationActor& federation) {
    std::shared_ptr<ServerLink> link(new ServerLink(federation));
    link->self_ = link;
    link->StartSendInitialMetadata();  // tells the dialler that the link is up
    link->id_ = federation.OpenLink(link, "");
    link->StartRead(&link->incoming_);
    return link.get();
  }

  void Send(std::shared_ptr<const Frame> frame) override { Do(queue_.Push(std::move(frame))); }
  void Close() override { Do(queue_.Close()); }

  void OnReadDone(bool ok) override {
    if (!ok) {
      Close();
      return;
    }
    if (!federation_.OnFrame(id_, std::make_shared<const Frame>(std::move(incoming_)))) {
      Close();
      return;
    }
    incoming_.Clear();
    StartRead(&incoming_);
  }
  void OnWriteDone(bool ok) override { Do(queue_.WriteDone(ok)); }
  void OnCancel() override { Close(); }
  void OnDone() override {
    federation_.OnClosed(id_);
    self_.reset();
  }

 private:
  explicit ServerLink(FederationActor& federation) : federation_(federation) {}
  void Do(FrameQueue::Next next) {
    if (next.write != nullptr) {
      StartWrite(next.write);
    } else if (next.end) {
      Finish(grpc::Status::OK);
    }
  }

  FederationActor& federation_;
  std::shared_ptr<ServerLink> self_;
  LinkId id_ = 0;
  Frame incoming_;
  FrameQueue queue_;
};

class FederationServiceImpl final : public FederationService::CallbackService {
 public:
  explicit FederationServiceImpl(FederationActor& federation) : federation_(federation) {}
  grpc::ServerBidiReactor<Frame, Frame>* Link(grpc::CallbackServerContext*) override {
    return ServerLink::Start(federation_);
  }

 private:
  FederationActor& federation_;
};

class ClientLink final : public grpc::ClientBidiReactor<Frame, Frame>, public LinkSink {
 public:
  // Not started yet; lives until gRPC is done with it, then calls `ended`.
  static ClientLink* Make(FederationActor& federation, const std::string& address,
                          std::function<void(ClientLink*)> ended) {
    std::shared_ptr<ClientLink> link(new ClientLink(federation, address, std::move(ended)));
    link->self_ = link;
    link->stub_->async()->Link(&link->context_, link.get());
    return link.get();
  }
  void Run() { StartCall(); }
  void Cancel() { context_.TryCancel(); }

  void Send(std::shared_ptr<const Frame> frame) override { Do(queue_.Push(std::move(frame))); }
  void Close() override { Do(queue_.Close()); }

  void OnReadInitialMetadataDone(bool ok) override {
    if (!ok) {
      return;  // OnDone follows
    }
    AddHold();  // Send may come from any thread until Close
    id_ = federation_.OpenLink(self_, address_);
    StartRead(&incoming_);
  }
  void OnReadDone(bool ok) override {
    if (!ok) {
      Close();
      return;
    }
    if (!federation_.OnFrame(id_, std::make_shared<const Frame>(std::move(incoming_)))) {
      Close();
      return;
    }
    incoming_.Clear();
    StartRead(&incoming_);
  }
  void OnWriteDone(bool ok) override { Do(queue_.WriteDone(ok)); }
  void OnDone(const grpc::Status&) override {
    if (id_ == 0) {
      federation_.OnDialFailed(address_);
    } else {
      federation_.OnClosed(id_);
    }
    const std::shared_ptr<ClientLink> self = std::move(self_);
    ended_(this);
  }

 private:
  ClientLink(FederationActor& federation, const std::string& address,
             std::function<void(ClientLink*)> ended)
      : federation_(federation),
        ended_(std::move(ended)),
        address_(address),
        channel_(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(),
                                           ChannelArguments())),
        stub_(FederationService::NewStub(channel_)) {}

  static grpc::ChannelArguments ChannelArguments() {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(limits::kMaxLinkMessageBytes);
    // A fresh connection per link: the gossip core owns reconnection and its backoff.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return arguments;
  }

  void Do(FrameQueue::Next next) {
    if (next.write != nullptr) {
      StartWrite(next.write);
    } else if (next.end) {
      // Half-close, so that a last Goaway still arrives; the other side then finishes the stream.
      StartWritesDone();
      RemoveHold();
    }
  }

  FederationActor& federation_;
  const std::function<void(ClientLink*)> ended_;
  const std::string address_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<FederationService::Stub> stub_;
  grpc::ClientContext context_;
  std::shared_ptr<ClientLink> self_;
  LinkId id_ = 0;
  Frame incoming_;
  FrameQueue queue_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeFederationService(FederationActor& federation) {
  return std::make_unique<FederationServiceImpl>(federation);
}

struct LinkDialer::State {
  Mutex mutex;
  CondVar idle;
  FederationActor* federation ABSL_GUARDED_BY(mutex) = nullptr;
  std::vector<std::string> early ABSL_GUARDED_BY(mutex);  // dialled before Bind
  std::set<ClientLink*> links ABSL_GUARDED_BY(mutex);
  bool closed ABSL_GUARDED_BY(mutex) = false;
};

LinkDialer::LinkDialer() : state_(std::make_shared<State>()) {}

LinkDialer::~LinkDialer() {
  Shutdown();
}

void LinkDialer::Bind(FederationActor& federation) {
  std::vector<std::string> early;
  {
    MutexLock lock(state_->mutex);
    state_->federation = &federation;
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
    link = ClientLink::Make(*state_->federation, address, [state = state_](ClientLink* ended) {
      MutexLock inner(state->mutex);
      state->links.erase(ended);
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

}  // namespace ruvd
