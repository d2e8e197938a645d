// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "tests/sim/adversary.h"

namespace ruvd::test {

// AdversaryKind says what each does.
std::unique_ptr<Adversary> MakeSilent();
std::unique_ptr<Adversary> MakeFreeRider();
std::unique_ptr<Adversary> MakeForger();
std::unique_ptr<Adversary> MakeReplayer();
std::unique_ptr<Adversary> MakeEquivocator();
std::unique_ptr<Adversary> MakeFlooder();
std::unique_ptr<Adversary> MakeBomber();
std::unique_ptr<Adversary> MakeSybil();
std::unique_ptr<Adversary> MakeWrongFrame();
std::unique_ptr<Adversary> MakeSpammer();
std::unique_ptr<Adversary> MakeAccuser();
std::unique_ptr<Adversary> MakeAddressLiar();

}  // namespace ruvd::test
