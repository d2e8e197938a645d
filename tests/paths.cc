// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/paths.h"

#include <string>

namespace ruvd::test {

std::string SourceDir() {
  return RUVD_SOURCE_DIR;
}
std::string BinaryDir() {
  return RUVD_BINARY_DIR;
}

}  // namespace ruvd::test
