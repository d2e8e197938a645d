// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// The precompiled header of the tests: precompiled.h and the test library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "precompiled.h"
