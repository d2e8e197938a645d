// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string_view>

#include "base/bytes.h"

namespace ruvd {

// Computes the SHA-256 of bytes that arrive in pieces. Not thread-safe.
class Sha256Stream {
 public:
  Sha256Stream();
  ~Sha256Stream();
  Sha256Stream(Sha256Stream&&) noexcept;
  Sha256Stream& operator=(Sha256Stream&&) noexcept;

  void Add(std::string_view bytes);
  // Returns the digest of everything added so far. More may be added afterwards.
  Digest Current() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ruvd
