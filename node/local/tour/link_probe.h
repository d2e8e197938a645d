// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/identity/admission.h"

namespace ruvd::cli {

// A misbehaving member of a demo cluster: it is admitted, links to a node like any other member,
// and then sends what an attacker would send. It uses the gossip core of real nodes; only the bad
// frames are made by hand. Not thread-safe.
class LinkProbe {
 public:
  // Admits a new key with `authority`, links to `address` and shares one harmless pattern without
  // an adapter; the bad envelopes are made from it. `model` is the model file of the cluster.
  static absl::StatusOr<std::unique_ptr<LinkProbe>> Open(const std::string& address,
                                                         const privacy::ClusterAuthority& authority,
                                                         const std::string& model);
  ~LinkProbe();
  LinkProbe(const LinkProbe&) = delete;
  LinkProbe& operator=(const LinkProbe&) = delete;

  // Sends the probe's pattern with one bit of the signed header flipped.
  absl::Status SendForged();
  // Sends the probe's pattern again, unchanged.
  absl::Status SendReplayed();
  // Sends the probe's pattern without the second half of its header.
  absl::Status SendTruncated();

 private:
  struct State;
  explicit LinkProbe(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ruvd::cli
