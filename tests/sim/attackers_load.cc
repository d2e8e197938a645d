// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Byzantine members that withhold (silent nodes, free riders) and members that send too much.

#include <string>
#include <utility>

#include "federation/limits.h"
#include "ruvd/federation/v1/federation.pb.h"
#include "tests/sim/attackers.h"
#include "tests/sim/own_envelopes.h"
#include "tests/sim/sim_node.h"

namespace ruvd::test {
namespace {

using federation::v1::WireFrame;
using std::chrono::seconds;

class Silent : public Adversary {
 public:
  void OnSend(SimNode& node, federation::LinkId link, const FramePtr& frame) override {
    if (KeepsLinkOpen(*frame)) {
      node.SendFrame(link, frame);
    }
  }
};

// Takes part in membership correctly. It takes items and never gives any; it answers requests with
// "none".
class FreeRider : public Adversary {
 public:
  void OnSend(SimNode& node, federation::LinkId link, const FramePtr& frame) override {
    if (frame->has_chunk()) {
      WireFrame none;
      none.mutable_chunk()->set_item_id(frame->chunk().item_id());
      none.mutable_chunk()->set_index(frame->chunk().index());
      none.mutable_chunk()->set_missing(true);
      node.SendFrame(link, std::make_shared<const WireFrame>(std::move(none)));
    } else if (!frame->has_push() && !frame->has_i_have()) {
      node.SendFrame(link, frame);
    }
  }
};

// Every twenty seconds it sends one of its links more than a node can want to hear.
class Flooder : public Adversary {
 public:
  void OnTick(SimNode& node) override {
    const TimePoint now = node.now().now;
    if (now < next_ || node.open_links().empty()) {
      return;
    }
    next_ = now + seconds(20);
    const federation::LinkId victim = *RandomLink(node);
    const auto frame = std::make_shared<const WireFrame>(Noise(node.random()));
    for (size_t i = 0; i < kFrames; ++i) {
      node.SendFrame(victim, frame);
    }
  }

 private:
  // This is above the burst that a link may have.
  static constexpr auto kFrames = static_cast<size_t>(limits::kFrameBurst) + 500;

  static std::string RandomId(Random& random) {
    std::string id(sizeof(Digest), '\0');
    for (char& c : id) {
      c = static_cast<char>(random.Next());
    }
    return id;
  }
  static WireFrame Noise(Random& random) {
    WireFrame frame;
    switch (random.Below(4)) {
      case 0:
        for (size_t i = 0; i < limits::kMaxIdsPerFrame; ++i) {
          frame.mutable_i_have()->add_ids(RandomId(random));
        }
        break;
      case 1:
        for (size_t i = 0; i < limits::kMaxIdsPerFrame; ++i) {
          frame.mutable_i_want()->add_ids(RandomId(random));
        }
        break;
      case 2:
        frame.mutable_chunk_request()->set_item_id(RandomId(random));
        break;
      default:
        auto* range = frame.mutable_recon_open()->add_ranges();
        range->set_fingerprint(RandomId(random).substr(0, 16));
    }
    return frame;
  }

  TimePoint next_{};
};

}  // namespace

std::unique_ptr<Adversary> MakeSilent() {
  return std::make_unique<Silent>();
}
std::unique_ptr<Adversary> MakeFreeRider() {
  return std::make_unique<FreeRider>();
}
std::unique_ptr<Adversary> MakeFlooder() {
  return std::make_unique<Flooder>();
}

}  // namespace ruvd::test
