// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/callers.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/mutex.h"
#include "base/reasons.h"
#include "base/retry_delay.h"
#include "base/status.h"
#include "base/token_bucket.h"
#include "node/api/authorization.h"
#include "node/reasons.h"
#include "privacy/identity/admission.h"

namespace ruvd::api {
namespace {

constexpr std::string_view kScheme = "Bearer ";
constexpr double kSecondsOfMinute = 60;
// A running request ends within moments or minutes; a client asks again soon.
constexpr std::chrono::milliseconds kRunningDelay{1000};

std::optional<transport::ApiKey> KeyOf(const transport::ApiKeys& keys,
                                       std::optional<std::string_view> authorization) {
  if (!authorization || !authorization->starts_with(kScheme)) {
    return std::nullopt;
  }
  return keys.Find(authorization->substr(kScheme.size()));
}

absl::Status UnknownCaller(bool shows_something) {
  return MakeError(absl::StatusCode::kUnauthenticated, reasons::kCallerUnknown,
                   !shows_something
                       ? "this node requires a key from its clients; show it as 'Authorization: "
                         "Bearer KEY', or name your key file with --key-file where you call ruvd"
                       : "this node does not know the key, which may have been revoked; ask the "
                         "node's operator for a valid one");
}

// Makes the bucket of a limit for each minute. It holds a minute's worth, so that a client which
// asks in bursts gets what it may.
std::optional<TokenBucket> BucketOf(uint32_t per_minute, TimePoint now) {
  if (per_minute == 0) {
    return std::nullopt;
  }
  return TokenBucket(per_minute / kSecondsOfMinute, per_minute, now);
}

}  // namespace

// What the holders of keys use. Keys without limits are not counted.
class KeyUses {
 public:
  explicit KeyUses(const Clock& clock) : clock_(clock) {}

  // Counts a request of a key, or says which limit does not allow it.
  absl::Status Begin(const transport::ApiKey& key) {
    const TimePoint now = clock_.Now();
    const MutexLock lock(mutex_);
    Use& use = UseOf(key, now);
    if (key.limits.running != 0 && use.running >= key.limits.running) {
      return Refused(key, kRunningDelay, key.limits.running, "requests at a time");
    }
    if (use.tokens && !use.tokens->Has(now)) {
      return Refused(key, use.tokens->Wait(now), key.limits.tokens_per_minute, "tokens a minute");
    }
    if (use.requests && !use.requests->Take(now)) {
      return Refused(key, use.requests->Wait(now), key.limits.requests_per_minute,
                     "requests a minute");
    }
    ++use.running;
    return absl::OkStatus();
  }

  void End(const std::string& name) {
    const MutexLock lock(mutex_);
    --uses_.at(name).running;
  }

  void Charge(const std::string& name, uint64_t tokens) {
    const TimePoint now = clock_.Now();
    const MutexLock lock(mutex_);
    if (auto& bucket = uses_.at(name).tokens) {
      bucket->Charge(now, static_cast<double>(tokens));
    }
  }

 private:
  struct Use {
    transport::KeyLimits limits;
    std::optional<TokenBucket> requests;  // nullopt: as many as the node takes
    std::optional<TokenBucket> tokens;
    uint32_t running = 0;
  };

  // An entry stays while a call of its key runs.
  Use& UseOf(const transport::ApiKey& key, TimePoint now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!uses_.contains(key.name) && uses_.size() >= 2 * limits::kMaxApiKeys) {
      std::erase_if(uses_, [](const auto& row) { return row.second.running == 0; });
    }
    Use& use = uses_[key.name];
    if (use.limits != key.limits) {  // also of a new entry, and of a key whose line was changed
      use.limits = key.limits;
      use.requests = BucketOf(key.limits.requests_per_minute, now);
      use.tokens = BucketOf(key.limits.tokens_per_minute, now);
    }
    return use;
  }

  static absl::Status Refused(const transport::ApiKey& key, std::chrono::milliseconds delay,
                              uint32_t limit, std::string_view what) {
    return WithRetryDelay(
        Error(absl::StatusCode::kResourceExhausted, reasons::kKeyLimit,
              "the key {} may use {} {} and has; try again in {:.1f} s, or ask the node's operator "
              "for more",
              key.name, limit, what, std::chrono::duration<double>(delay).count()),
        delay);
  }

  const Clock& clock_;
  Mutex mutex_;
  std::map<std::string, Use> uses_ ABSL_GUARDED_BY(mutex_);
};

AdmittedCall::~AdmittedCall() {
  if (uses_ != nullptr) {
    uses_->End(key_);
  }
}

void AdmittedCall::Charge(uint64_t tokens) const {
  if (uses_ != nullptr) {
    uses_->Charge(key_, tokens);
  }
}

Callers::Callers(std::shared_ptr<const transport::ApiKeys> keys, const Clock& clock)
    : keys_(std::move(keys)), uses_(std::make_shared<KeyUses>(clock)) {}

Callers::~Callers() = default;

absl::Status Callers::Authorize(std::string_view method,
                                std::optional<std::string_view> authorization) const {
  if (keys_ == nullptr) {
    return absl::OkStatus();
  }
  const std::optional<transport::ApiKey> key = KeyOf(*keys_, authorization);
  if (MayCall(method, key ? key->roles : 0)) {
    return absl::OkStatus();
  }
  if (!key) {
    return UnknownCaller(authorization.has_value());
  }
  return Error(absl::StatusCode::kPermissionDenied, reasons::kRoleMissing,
               "the roles of the key {} ({}) do not allow {}; ask the node's operator for a key "
               "that does",
               key->name, transport::FormatRoles(key->roles), method);
}

absl::StatusOr<std::shared_ptr<const AdmittedCall>> Callers::Admit(
    std::optional<std::string_view> authorization, std::string_view source) const {
  if (keys_ == nullptr) {
    return std::make_shared<const AdmittedCall>(Caller{.name = std::string(source)});
  }
  const std::optional<transport::ApiKey> key = KeyOf(*keys_, authorization);
  if (!key) {
    return UnknownCaller(authorization.has_value());
  }
  const bool is_admin = (key->roles & privacy::roles::kAdmin) != 0;
  Caller caller{.name = "key:" + key->name, .owner = is_admin ? "" : key->name};
  if (key->limits == transport::KeyLimits()) {
    return std::make_shared<const AdmittedCall>(std::move(caller));
  }
  RETURN_IF_ERROR(uses_->Begin(*key));
  return std::make_shared<const AdmittedCall>(std::move(caller), uses_, key->name);
}

absl::StatusOr<std::shared_ptr<const AdmittedCall>> AdmitCall(
    const Callers* callers, const grpc::CallbackServerContext& context) {
  // At the unix socket the kernel says who calls, and no key is asked for.
  const bool is_at_socket = context.peer().starts_with("unix:");
  if (callers == nullptr || !callers->asks_for_keys() || is_at_socket) {
    return std::make_shared<const AdmittedCall>(Caller{.name = SourceOf(context)});
  }
  const auto& metadata = context.client_metadata();
  const auto header = metadata.find("authorization");
  return callers->Admit(
      header == metadata.end()
          ? std::nullopt
          : std::optional(std::string_view(header->second.data(), header->second.size())),
      "");
}

serving::EmbedJob EmbedJobOf(const std::string& text, const AdmittedCall& call,
                             const grpc::CallbackServerContext& context, const Clock& clock) {
  return {.text = text, .caller = call.caller().name, .unwanted = UnwantedOf(context, clock)};
}

}  // namespace ruvd::api
