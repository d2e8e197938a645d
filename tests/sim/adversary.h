// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "bench/update_attacks.h"
#include "federation/core/gossip_core.h"
#include "federation/events/actions.h"

namespace ruvd::test {

class AdversaryHost;

// How a member lies in its shares of masked sums.
enum class ShareLies : uint8_t {
  kNone,
  kAny,       // in another way each time
  kNoise,     // always commits to noise and gives it
  kWithheld,  // always commits to a share and keeps it
};

// What a Byzantine member of the cluster does. It has a valid certificate, and a core of its own
// opens and keeps its links, so that everything it sends reaches its peers' cores.
class Adversary {
 public:
  using FramePtr = std::shared_ptr<const federation::v1::WireFrame>;

  virtual ~Adversary() = default;
  virtual void Configure(federation::GossipConfig& /*config*/) {}
  // Called in place of sending a frame that its core wants to send; sends the frame unless
  // overridden.
  virtual void OnSend(AdversaryHost& host, federation::LinkId link, const FramePtr& frame);
  // Called before its core sees a frame; after false the core never sees it.
  virtual bool OnReceive(AdversaryHost& /*host*/, federation::LinkId /*link*/,
                         const FramePtr& /*frame*/) {
    return true;
  }
  virtual void OnTick(AdversaryHost& /*host*/) {}
  // Whether it offers false states of the rounds, and is a good member otherwise.
  virtual bool LiesInCheckpoints() const { return false; }
  // Returns how it lies in its shares of masked sums; it is a good member otherwise.
  virtual ShareLies LiesInShares() const { return ShareLies::kNone; }
  // Whether it spreads more valid items than its peers fetch at once, so that they hold different
  // ones of them.
  virtual bool SpreadsTooMuch() const { return false; }
};

enum class AdversaryKind : uint8_t {
  kSilent,       // keeps links open, forwards and answers nothing
  kFreeRider,    // takes items and gives none
  kForger,       // items, records and chunks in others' names, altered, or without a certificate
  kReplayer,     // repeats what it heard, at once and much later
  kEquivocator,  // two items under one number, two records of one incarnation
  kFlooder,      // endless announcements, requests and reconciliations
  kBomber,       // frames above their limit, payloads as large as allowed that never come
  kSybil,        // one of many at one address that link to every node and give nothing
  kWrongFrame,   // contributions for another adapter frame
  kSpammer,      // valid patterns without an end
  kAccuser,      // accuses all members of not answering
  // These are good members except for what they contribute: see bench/update_attacks.h.
  kSignFlip,      // -3 times the honest mean
  kAlie,          // a little is enough: within the spread of honest ones, against their mean
  kInnerProduct,  // half of the honest mean, reversed
  kMinMax,        // as far against the mean as honest updates lie apart
  kGaussian,      // noise
  kFalseState,    // a good member that offers false states of the rounds
  // Signs sets of masked sums, and then gives noise, another set's share, one that it did not
  // commit to, two shares, a very large input or nothing
  kFalseShare,
  kNoiseShare,     // always gives noise in place of its share
  kWithheldShare,  // always commits to its share and keeps it
  kAddressLiar,    // its own records say that it is elsewhere
};

// "silent", ...
std::string_view AdversaryName(AdversaryKind kind);
std::optional<AdversaryKind> AdversaryByName(std::string_view name);
std::span<const AdversaryKind> AllAdversaries();
// Returns those that a seed picks from; worlds with masked sums pick liars in shares besides. A
// kind is picked by its place, so new ones are not among them: a seed stays the world that it was.
std::span<const AdversaryKind> PickedAdversaries();
// Returns what it sends as contributions; nullopt for kinds that attack in another way.
std::optional<bench::UpdateAttack> UpdateAttackOf(AdversaryKind kind);
// Whether it lies in shares of masked sums.
bool LiesInShares(AdversaryKind kind);
// Whether it lies about what nodes learn, so that its worlds must learn.
bool LiesAboutLearning(AdversaryKind kind);
std::unique_ptr<Adversary> MakeAdversary(AdversaryKind kind);

}  // namespace ruvd::test
