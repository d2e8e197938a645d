// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

namespace ruvd::test {

// Returns the folder of the sources that the tests were built from. Only paths.cc is compiled with
// the folder's name, so that the compiler's cache serves clones in other folders.
std::string SourceDir();

// Returns the folder of the build that the tests belong to.
std::string BinaryDir();

}  // namespace ruvd::test
