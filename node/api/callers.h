// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "node/api/caller.h"
#include "node/serving/inference.h"
#include "node/transport/api_keys.h"
#include "node/transport/grpc_types.h"

namespace ruvd::api {

class KeyUses;

// A call that may use the node. It counts as running until it is destroyed. Thread-safe.
class AdmittedCall {
 public:
  // Makes a call of a caller without limits.
  explicit AdmittedCall(Caller caller) : caller_(std::move(caller)) {}
  AdmittedCall(Caller caller, std::shared_ptr<KeyUses> uses, std::string key)
      : caller_(std::move(caller)), uses_(std::move(uses)), key_(std::move(key)) {}
  ~AdmittedCall();
  AdmittedCall(const AdmittedCall&) = delete;
  AdmittedCall& operator=(const AdmittedCall&) = delete;

  const Caller& caller() const { return caller_; }
  // Charges tokens that the call used to its key.
  void Charge(uint64_t tokens) const;

 private:
  const Caller caller_;
  const std::shared_ptr<KeyUses> uses_;  // null: nothing is counted
  const std::string key_;
};

// Who may call a port, what is theirs, and how much of the node they may use. gRPC and HTTP ask the
// same object, so a key has its limits once. Thread-safe.
class Callers {
 public:
  // If `keys` is null, the port asks for no key, and its callers are told apart by their addresses.
  // `clock` is borrowed.
  Callers(std::shared_ptr<const transport::ApiKeys> keys, const Clock& clock);
  ~Callers();

  bool asks_for_keys() const { return keys_ != nullptr; }

  // Decides whether a caller that shows `authorization` ("Bearer KEY"; nullopt: nothing) may call
  // the method. CALLER_UNKNOWN without a known key, in equal time for all unknown ones;
  // ROLE_MISSING if the key's roles do not allow the method. A port without keys allows all.
  absl::Status Authorize(std::string_view method,
                         std::optional<std::string_view> authorization) const;

  // Admits a call that Authorize allowed. `source` is where it comes from, for a port without keys.
  // Returns KEY_LIMIT with the time after which another try may succeed if the key has used what it
  // may, and CALLER_UNKNOWN if the key was revoked meanwhile.
  absl::StatusOr<std::shared_ptr<const AdmittedCall>> Admit(
      std::optional<std::string_view> authorization, std::string_view source) const;

 private:
  const std::shared_ptr<const transport::ApiKeys> keys_;
  const std::shared_ptr<KeyUses> uses_;
};

// Admits a call over gRPC, as Callers::Admit does. `callers` may be null for a port without keys.
absl::StatusOr<std::shared_ptr<const AdmittedCall>> AdmitCall(
    const Callers* callers, const grpc::CallbackServerContext& context);

// Returns the job of an admitted call that embeds a text.
serving::EmbedJob EmbedJobOf(const std::string& text, const AdmittedCall& call,
                             const grpc::CallbackServerContext& context, const Clock& clock);

}  // namespace ruvd::api
