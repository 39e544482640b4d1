// A loop of fused multiply-adds that never touches memory: no float32 code of this instruction set runs faster on the same threads.

#pragma once

#include "lanes.h"
#include "threads.h"

namespace {

using Floats = Lanes<float>::Vec;

// Independent sums, so that none waits for its own result; with factor and term they fit into the registers, 16 of AVX2 or 32 of AVX-512.
constexpr int SUMS = BYTES == 64 ? 24 : 12;

// A value of which the compiler knows nothing, not even that it equals another: it can neither merge nor remove the work of an iteration.
ALWAYS Floats hidden(Floats v) {
#if defined(__x86_64__)
    asm volatile("" : "+v"(v));
#endif
    return v;
}

// Every number starts at 0 and becomes s / 2 + 1 in every iteration, which is never denormal; returns the total of all numbers.
inline float multiply_and_add(int64_t iterations) {
    const Floats half = hidden(Floats{} + 0.5f), one = hidden(Floats{} + 1.0f);
    Floats sum[SUMS] = {};
    for (int64_t iteration = 0; iteration < iterations; ++iteration)
#pragma GCC unroll 24
        for (int s = 0; s < SUMS; ++s) sum[s] = hidden(sum[s] * half + one);
#pragma GCC unroll 24
    for (int s = 1; s < SUMS; ++s) sum[0] += sum[s];
    return total_of<float>(sum[0]);
}

}  // namespace
