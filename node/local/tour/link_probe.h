// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/identity/admission.h"

namespace ruvd::cli {

// A member of a demo cluster that misbehaves: it is admitted, links to a node like any other, and
// then sends what an attacker would. Its protocol is the gossip core of real nodes; only the bad
// frames are made by hand. Not thread-safe.
class LinkProbe {
 public:
  // Admits a fresh key by `authority`, links to `address` and shares one harmless pattern without
  // an adapter, which the bad envelopes are made from. `model` is the file that the cluster serves.
  static absl::StatusOr<std::unique_ptr<LinkProbe>> Open(const std::string& address,
                                                         const privacy::ClusterAuthority& authority,
                                                         const std::string& model);
  ~LinkProbe();
  LinkProbe(const LinkProbe&) = delete;
  LinkProbe& operator=(const LinkProbe&) = delete;

  // The probe's own pattern with one bit of its signed header turned.
  absl::Status SendForged();
  // The probe's own pattern once more, unchanged.
  absl::Status SendReplayed();
  // The probe's own pattern without the second half of its header.
  absl::Status SendTruncated();

 private:
  struct State;
  explicit LinkProbe(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ruvd::cli
