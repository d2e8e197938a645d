// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// A target without sources of its own compiles this file, because CMake needs at least one.
