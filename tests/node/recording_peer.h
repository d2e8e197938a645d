// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "federation/gossip_core.h"
#include "privacy/sodium.h"
#include "ruvd/federation/v1/federation.grpc.pb.h"

namespace ruvd {

// An honest peer of a real node, over a real link, that keeps every byte which the node sends. One
// thread runs it.
class RecordingPeer {
 public:
  // `key` outlives the peer.
  RecordingPeer(GossipConfig config, const NodeKey& key) : core_(Create(std::move(config), key)) {}

  // Links to `address` and takes part until `done` or for `most`; whether it was done.
  bool TakePartUntil(const std::string& address, Duration most, const std::function<bool()>& done) {
    const auto stub = federation::v1::FederationService::NewStub(
        grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    stream_ = stub->Link(&context);
    std::thread reader([this] { Read(); });
    Perform(core_->OnLinkOpened(kLink, address, Now()));
    const TimePoint end = SystemClock().Now() + most;
    bool reached = false;
    while (!(reached = done()) && SystemClock().Now() < end) {
      if (std::optional<federation::v1::Frame> frame = Next()) {
        Perform(core_->OnFrame(kLink, *frame, Now()));
      } else {
        Perform(core_->OnTick(Now()));
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    }
    context.TryCancel();
    reader.join();
    (void)stream_->Finish();
    Perform(core_->OnLinkClosed(kLink, Now()));
    return reached;
  }

  // All frames, one behind the other, each as it travels.
  const std::string& received() const { return received_; }
  const std::vector<Item>& accepted() const { return accepted_; }

 private:
  static constexpr LinkId kLink = 1;

  static std::unique_ptr<GossipCore> Create(GossipConfig config, const NodeKey& key) {
    auto core = GossipCore::Create(std::move(config), key, SecureRandomBytes, 1, Now());
    EXPECT_TRUE(core.ok()) << core.status();
    return *std::move(core);
  }
  static Instant Now() { return Instant::Of(SystemClock()); }

  void Read() {
    federation::v1::Frame frame;
    while (stream_->Read(&frame)) {
      const MutexLock lock(mutex_);
      waiting_.push_back(frame);
    }
  }
  std::optional<federation::v1::Frame> Next() {
    const MutexLock lock(mutex_);
    if (waiting_.empty()) {
      return std::nullopt;
    }
    federation::v1::Frame frame = std::move(waiting_.front());
    waiting_.pop_front();
    received_ += frame.SerializeAsString();
    return frame;
  }
  void Perform(Actions actions) {
    for (Action& action : actions) {
      if (const auto* send = std::get_if<SendFrame>(&action)) {
        stream_->Write(*send->frame);
      } else if (const auto* accepted = std::get_if<ItemAccepted>(&action)) {
        accepted_.push_back(accepted->item);
      }
    }
  }

  std::unique_ptr<GossipCore> core_;
  std::unique_ptr<grpc::ClientReaderWriter<federation::v1::Frame, federation::v1::Frame>> stream_;
  Mutex mutex_;
  std::deque<federation::v1::Frame> waiting_ ABSL_GUARDED_BY(mutex_);
  std::string received_;
  std::vector<Item> accepted_;
};

}  // namespace ruvd
