// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/cpu_features.h"

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace ruvd {
namespace {

#if defined(__x86_64__)

constexpr bool Bit(uint32_t word, int bit) {
  return ((word >> bit) & 1U) != 0;
}

struct Leaf {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Leaf LeafOf(uint32_t leaf, uint32_t sub) {
  Leaf out;
  if (__get_cpuid_count(leaf, sub, &out.eax, &out.ebx, &out.ecx, &out.edx) == 0) {
    return {};
  }
  return out;
}

// The register states that the operating system saves (XCR0).
uint64_t SavedStates() {
  uint32_t low = 0;
  uint32_t high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

// Linux grants a process the large tile registers only when asked (ARCH_REQ_XCOMP_PERM).
bool RequestTiles() {
  constexpr long kRequestPermission = 0x1023;
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

CpuFeatures Detect() {
  CpuFeatures cpu;
  const Leaf basic = LeafOf(1, 0);
  if (!Bit(basic.ecx, 27)) {  // OSXSAVE
    return cpu;
  }
  const uint64_t saved = SavedStates();
  const bool ymm = (saved & 0x6) == 0x6;
  const bool zmm = (saved & 0xE6) == 0xE6;
  const bool tiles = (saved & 0x60000) == 0x60000;
  const Leaf extended = LeafOf(7, 0);
  const Leaf more = LeafOf(7, 1);
  cpu.avx2 = ymm && Bit(extended.ebx, 5) && Bit(basic.ecx, 12) && Bit(basic.ecx, 29);
  cpu.avx_vnni = cpu.avx2 && Bit(more.eax, 4);
  cpu.avx512 = cpu.avx2 && zmm && Bit(extended.ebx, 16) && Bit(extended.ebx, 17) &&
               Bit(extended.ebx, 30) && Bit(extended.ebx, 31);
  cpu.avx512_vnni = cpu.avx512 && Bit(extended.ecx, 11);
  cpu.avx512_bf16 = cpu.avx512 && Bit(more.eax, 5);
  cpu.amx_int8 =
      cpu.avx512_vnni && tiles && Bit(extended.edx, 24) && Bit(extended.edx, 25) && RequestTiles();
  cpu.amx_bf16 = cpu.amx_int8 && cpu.avx512_bf16 && Bit(extended.edx, 22);
  return cpu;
}

#elif defined(__aarch64__)

CpuFeatures Detect() {
  CpuFeatures cpu;
  cpu.neon_dotprod = (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
  cpu.neon_i8mm = cpu.neon_dotprod && (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0;
  return cpu;
}

#else

CpuFeatures Detect() {
  return {};
}

#endif

}  // namespace

const CpuFeatures& ThisCpu() {
  static const CpuFeatures cpu = Detect();
  return cpu;
}

}  // namespace ruvd
