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
#include "federation/core/gossip_core.h"
#include "federation/learner/contribution.h"
#include "federation/learner/global_state.h"
#include "federation/learner/plan.h"
#include "privacy/sodium.h"
#include "ruvd/federation/v1/federation.grpc.pb.h"

namespace ruvd::node {

// Returns a contribution of a peer that has almost no effect, so that every gate accepts it.
inline std::string SmallContribution(const federation::LearnerPlan& plan, uint64_t round) {
  const federation::GlobalState none = federation::EmptyState(plan, round);
  return federation::EncodeContribution({.plan = plan.Id(),
                                         .round = round,
                                         .base_round = none.round,
                                         .base = none.DigestOf(plan),
                                         .schedule = plan.schedule,
                                         .banks = {0},
                                         .floats = std::vector<float>(plan.values_per_bank, 1e-3F),
                                         .units = {}},
                                        plan);
}

// An honest peer of a real node, over a real link, that keeps every byte that the node sends. One
// thread runs it.
class RecordingPeer {
 public:
  // `key` must outlive the peer.
  RecordingPeer(federation::GossipConfig config, const privacy::NodeKey& key)
      : core_(Create(std::move(config), key)) {}

  // Links to `address` and takes part until `done` returns true or `most` has passed; returns
  // whether it was done.
  bool TakePartUntil(const std::string& address, Duration most, const std::function<bool()>& done) {
    grpc::ChannelArguments arguments;  // a connection may have one link
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    const auto stub = federation::v1::FederationService::NewStub(
        grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
    grpc::ClientContext context;
    stream_ = stub->Link(&context);
    std::thread reader([this] { Read(); });
    Perform(core_->OnLinkOpened(kLink, address, Now()));
    const TimePoint end = SystemClock().Now() + most;
    bool reached = false;
    while (!(reached = done()) && SystemClock().Now() < end) {
      if (std::optional<federation::v1::WireFrame> frame = Next()) {
        Perform(core_->OnFrame(kLink, *frame, Now()));
      } else {
        Perform(core_->OnTick(Now()));
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    }
    context.TryCancel();
    reader.join();
    (void)stream_->Finish();
    while (Next()) {  // kept, but of no later link
    }
    Perform(core_->OnLinkClosed(kLink, Now()));
    return reached;
  }

  // The core of the peer. Perform carries out its actions.
  federation::GossipCore& core() { return *core_; }
  static federation::Instant Now() { return federation::Instant::Of(SystemClock()); }
  // May be called within TakePartUntil only, like Say.
  void Perform(federation::Actions actions) {
    for (federation::Action& action : actions) {
      if (const auto* send = std::get_if<federation::SendFrame>(&action)) {
        stream_->Write(*send->frame);
      } else if (const auto* accepted = std::get_if<federation::ItemAccepted>(&action)) {
        accepted_.push_back(accepted->item);
      }
    }
  }
  // Sends a frame in the peer's name, past its core.
  void Say(const federation::v1::WireFrame& frame) { stream_->Write(frame); }

  // All frames, one after the other, each as it was sent.
  const std::string& received() const { return received_; }
  const std::vector<federation::Item>& accepted() const { return accepted_; }

 private:
  static constexpr federation::LinkId kLink = 1;

  static std::unique_ptr<federation::GossipCore> Create(federation::GossipConfig config,
                                                        const privacy::NodeKey& key) {
    auto core = federation::GossipCore::Create(std::move(config), key, privacy::SecureRandomBytes,
                                               1, Now());
    EXPECT_TRUE(core.ok()) << core.status();
    return *std::move(core);
  }

  void Read() {
    federation::v1::WireFrame frame;
    while (stream_->Read(&frame)) {
      const MutexLock lock(mutex_);
      waiting_.push_back(frame);
    }
  }
  std::optional<federation::v1::WireFrame> Next() {
    const MutexLock lock(mutex_);
    if (waiting_.empty()) {
      return std::nullopt;
    }
    federation::v1::WireFrame frame = std::move(waiting_.front());
    waiting_.pop_front();
    received_ += frame.SerializeAsString();
    return frame;
  }

  std::unique_ptr<federation::GossipCore> core_;
  std::unique_ptr<grpc::ClientReaderWriter<federation::v1::WireFrame, federation::v1::WireFrame>>
      stream_;
  Mutex mutex_;
  std::deque<federation::v1::WireFrame> waiting_ ABSL_GUARDED_BY(mutex_);
  std::string received_;
  std::vector<federation::Item> accepted_;
};

}  // namespace ruvd::node
