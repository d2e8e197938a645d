// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/transport/descriptor.h"

#include <unistd.h>

#include <utility>

namespace ruvd::transport {

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  Descriptor former(std::exchange(fd_, other.Release()));
  return *this;
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

int Descriptor::Release() {
  return std::exchange(fd_, -1);
}

}  // namespace ruvd::transport
