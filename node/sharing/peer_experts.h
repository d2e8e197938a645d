// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "federation/core/gossip_core.h"
#include "federation/events/item.h"
#include "federation/patterns/shared_expert.h"
#include "node/serving/adapter_catalog.h"
#include "node/sharing/expert_trial.h"
#include "node/sharing/use_ratings.h"
#include "privacy/identity/node_key.h"

namespace ruvd::sharing {

// What an operator sees of a peer's expert.
struct PeerExpertView {
  uint32_t version = 0;
  uint32_t lessons = 0;  // as its origin claims
  ExpertStanding standing = ExpertStanding::kTrial;
  std::string why;     // of an unusable one
  uint64_t texts = 0;  // of the last trial
  double gain = 0;     // likewise, in nats per token
};

// The experts of peers: at most one of each, on trial until this node's own texts have gained by it
// (ExpertTrial). A newer version takes the place of the former one and gets a trial of its own. One
// that serves is judged again when twice as many texts choose it, so that one that helps some texts
// and harms others is found. What was refused does not come back before a newer version. At most
// limits::kMaxServingExperts serve: one that helps more displaces the one that helps least. A
// version that is offered again keeps its standing. Nothing is kept across restarts besides the
// items: they get another trial. Not thread-safe: the federation actor owns it.
class PeerExperts {
 public:
  // `catalog` must outlive this object; it serves the experts.
  PeerExperts(serving::AdapterCatalog& catalog, const privacy::NodeId& self)
      : catalog_(catalog), self_(self) {}
  // The catalogue keeps no expert of an actor that failed; the next one begins afresh.
  ~PeerExperts();
  PeerExperts(const PeerExperts&) = delete;
  PeerExperts& operator=(const PeerExperts&) = delete;

  // Takes an expert that the core accepted; items of other kinds, of this node and older versions
  // have no effect.
  void Store(const federation::Item& item);
  // The item was withdrawn, expired, or its sender is no longer trusted.
  void Remove(const Digest& item);

  // An expert whose trial is next.
  struct Trial {
    privacy::NodeId origin{};
    Digest item{};
    std::shared_ptr<const std::string> payload;  // an encoded SharedExpert
    size_t former_texts = 0;                     // texts that are not enough for another verdict
  };
  // Returns the expert whose trial is due for the longest time at `now_ms`, which, as below, is of
  // a clock that never goes back; nullopt: none. Call EndTrial or Postpone before the next call.
  std::optional<Trial> NextTrial(int64_t now_ms);
  // Acts on a verdict. Does nothing if the item was removed or replaced meanwhile.
  void EndTrial(const Trial& trial, const ExpertVerdict& verdict, int64_t now_ms);
  // The trial could not be made and is due again later.
  void Postpone(const Trial& trial, int64_t now_ms);

  // Counts the rating for the experts that served the completion, and drops those that are rated
  // badly.
  void OnRated(const RatedUse& use);

  std::map<privacy::NodeId, PeerExpertView> View() const;
  size_t serving() const;

 private:
  struct Held {
    Digest item{};
    std::shared_ptr<const std::string> payload;  // an encoded SharedExpert
    uint32_t version = 0;
    uint32_t lessons = 0;
    int64_t created_ms = 0;
    ExpertStanding standing = ExpertStanding::kTrial;
    std::string why;
    size_t texts = 0;         // of the last trial
    size_t former_texts = 0;  // another verdict needs more
    double gain = 0;
    int64_t due_ms = 0;
    int misses = 0;  // trials in a row that scored nothing
    Digest file{};   // hash of its file
  };
  static bool IsRefused(ExpertStanding standing);
  Held* Find(const Trial& trial);
  void Serve(const ExpertVerdict& verdict, Held* held);
  void SetServing(std::shared_ptr<const inference::Talora> adapter, Held* held);
  // Gives an expert that was there before, byte for byte, its former standing; any other one waits
  // as long as the former one would have.
  void Recall(const privacy::NodeId& origin, Held* held);
  void Stop(const privacy::NodeId& origin, ExpertStanding standing, Held* held);

  serving::AdapterCatalog& catalog_;
  const privacy::NodeId self_;
  std::map<privacy::NodeId, Held> held_;
  // The last one of each origin that was removed, without its payload: an item that takes the place
  // of another comes after that one's removal
  std::map<privacy::NodeId, Held> former_;
  UseRatings ratings_;
};

}  // namespace ruvd::sharing
