// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace ruvd::storage {

// The names of users' scopes begin with this prefix.
inline constexpr char kUserScopes[] = "user/";
inline bool IsUserScope(std::string_view name) {
  return name.starts_with(kUserScopes);
}

// Selects the data key that seals a value. All values of one scope become unreadable together when
// its key is destroyed (erasure on request). Reading needs no scope: every value names its key.
// This is a value type.
class KeyScope {
 public:
  // Selects the data key of the row's own column family.
  KeyScope() = default;
  // Selects the key of all of a user's values, in every family. `id` has at most kMaxScopeIdBytes
  // bytes.
  static KeyScope User(std::string_view id) { return KeyScope(kUserScopes + std::string(id)); }
  static KeyScope Collection(uint32_t number) {
    return KeyScope("collection/" + std::to_string(number));
  }

  // Returns "" for the default scope, otherwise for example "user/alice" or "collection/0".
  const std::string& name() const { return name_; }
  bool operator==(const KeyScope&) const = default;

 private:
  explicit KeyScope(std::string name) : name_(std::move(name)) {}
  std::string name_;
};

}  // namespace ruvd::storage
