// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Chooses the table of kernels.

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu_features.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/kernels/float_kernels.h"
#include "inference/kernels/integer/integer_tables.h"
#include "inference/kernels/kernel_table.h"
#include "inference/kernels/rounded_amx.h"

namespace ruvd::inference {
namespace {

constexpr char kVariable[] = "RUVD_KERNELS";

struct Entry {
  const char* name;
  const char* wants;  // completes "the processor has ..."
  bool available;
  FloatLevel level;
  void (*fill)(KernelTable* table);
  const RoundedKernels* rounded = nullptr;
};

// Returns the entries, best first.
std::vector<Entry> Entries() {
  [[maybe_unused]] const CpuFeatures& cpu = ThisCpu();
  return {
#if defined(__x86_64__)
      {"amx", "AMX with 8-bit integers", cpu.amx_int8, FloatLevel::kBest, integer::FillAmx,
       cpu.amx_bf16 ? &AmxRoundedKernels() : nullptr},
      {"avx512-vnni", "AVX-512 VNNI", cpu.avx512_vnni, FloatLevel::kBest, integer::FillAvx512Vnni},
      {"avx512", "AVX-512", cpu.avx512, FloatLevel::kBest, integer::FillAvx2},
      {"avx-vnni", "AVX-VNNI", cpu.avx_vnni, FloatLevel::kAvx2, integer::FillAvxVnni},
      {"avx2", "AVX2, FMA and F16C", cpu.avx2, FloatLevel::kAvx2, integer::FillAvx2},
#elif defined(__aarch64__)
      {"neon-i8mm", "I8MM", cpu.neon_i8mm, FloatLevel::kBest, integer::FillNeonI8mm},
      {"neon-dotprod", "the dot product of Armv8.2", cpu.neon_dotprod, FloatLevel::kBest,
       integer::FillNeonDotprod},
      {"neon", "NEON", true, FloatLevel::kBest, integer::FillNeon},
#endif
      {"scalar", "the basic instruction set", true, FloatLevel::kBaseline, integer::FillScalar},
  };
}

// Returns the tables that this machine can run. They are never freed, because computations keep
// references to them.
const std::vector<KernelTable>& Tables() {
  static const auto* const tables = [] {
    auto* made = new std::vector<KernelTable>;
    for (const Entry& entry : Entries()) {
      if (entry.available) {
        KernelTable& table = made->emplace_back();
        FillFloatKernels(entry.level, &table);
        entry.fill(&table);
        table.rounded = entry.rounded;
        table.name = entry.name;
      }
    }
    return made;
  }();
  return *tables;
}

const KernelTable* Find(std::string_view name) {
  for (const KernelTable& table : Tables()) {
    if (name == table.name) {
      return &table;
    }
  }
  return nullptr;
}

absl::Status UnknownName(std::string_view name) {
  std::string names;
  for (const KernelTable& table : Tables()) {
    names += names.empty() ? table.name : fmt::format(", {}", table.name);
  }
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "no kernels named {} can run on this machine; available: {}", name, names);
}

std::string_view VariableValue() {
  const char* value = std::getenv(kVariable);
  return value == nullptr ? "" : value;
}

// The table in use and what selected it by name; nullptr if it was selected automatically.
struct Choice {
  std::atomic<const KernelTable*> table;
  std::atomic<const char*> by;
};

Choice& Current() {
  static Choice current = [] {
    const KernelTable* named = Find(VariableValue());
    return Choice{named != nullptr ? named : &Tables().front(),
                  named != nullptr ? kVariable : nullptr};
  }();
  return current;
}

}  // namespace

const KernelTable& Kernels() {
  return *Current().table.load(std::memory_order_acquire);
}

std::vector<KernelCandidate> KernelCandidates() {
  std::vector<KernelCandidate> candidates;
  for (const Entry& entry : Entries()) {
    candidates.push_back({.name = entry.name,
                          .available = entry.available,
                          .reason = fmt::format("the processor {} {}",
                                                entry.available ? "has" : "lacks", entry.wants)});
  }
  return candidates;
}

std::string KernelChoiceReason() {
  const char* name = Kernels().name;
  if (const char* by = Current().by.load(); by != nullptr) {
    return fmt::format("{} was requested by {}", name, by);
  }
  return fmt::format("{} is the best of the {} that this machine can run", name, Tables().size());
}

absl::Status ForceKernels(std::string_view name) {
  const KernelTable* table = name.empty() ? &Tables().front() : Find(name);
  if (table == nullptr) {
    return UnknownName(name);
  }
  Current().by.store(name.empty() ? nullptr : "the caller");
  Current().table.store(table, std::memory_order_release);
  return absl::OkStatus();
}

absl::Status CheckKernelsVariable() {
  const std::string_view name = VariableValue();
  if (name.empty() || Find(name) != nullptr) {
    return absl::OkStatus();
  }
  return Annotate(UnknownName(name), kVariable);
}

std::vector<KernelTable> AvailableKernels() {
  return Tables();
}

}  // namespace ruvd::inference
