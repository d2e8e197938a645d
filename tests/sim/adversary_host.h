// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "base/random.h"
#include "federation/core/gossip_core.h"

namespace ruvd::test {

// A member of a cluster, as the adversary in it sees it: a simulated node (SimNode), or a process
// with links to real nodes (tests/campaign/insider_host.h). An adversary works in either. Not
// thread-safe: an adversary is called by its host, in which all methods may be called.
class AdversaryHost {
 public:
  virtual ~AdversaryHost() = default;

  // ---- Who the member is
  virtual const privacy::NodeKey& key() const = 0;
  // Its certificate, address, model and rules; the boot counter and the plan stand beside it.
  virtual const federation::GossipConfig& config() const = 0;
  virtual uint64_t boot_counter() const = 0;
  virtual const federation::LearnerPlan& plan() const = 0;

  // ---- What it knows
  // The time by which it federates
  virtual federation::Instant now() const = 0;
  virtual Random& random() = 0;
  // The core that keeps its links
  virtual const federation::GossipCore& core() const = 0;
  // Links whose handshake is done, in the order of their ids
  virtual const std::set<federation::LinkId>& open_links() const = 0;
  // Returns the address of a random node of the cluster; nullopt if it hit its own.
  virtual std::optional<std::string> SomeAddress() = 0;

  // ---- What it does
  virtual void DialAddress(const std::string& address) = 0;
  virtual void SendFrame(federation::LinkId link,
                         std::shared_ptr<const federation::v1::WireFrame> frame) = 0;
  // Sends bytes that need not be a frame.
  virtual void SendBytes(federation::LinkId link, const std::string& bytes) = 0;
  // Returns a new pattern that all nodes of the cluster take.
  virtual federation::SharedPattern SomePattern() = 0;
  // Has its core offer a pattern. Returns the errors of GossipCore::OfferPattern.
  virtual absl::Status OfferPattern(const federation::SharedPattern& pattern) = 0;
  // Hears of an item that the adversary signed without its core.
  virtual void NoteSigned(const Digest& id, const std::string& payload) = 0;
};

}  // namespace ruvd::test
