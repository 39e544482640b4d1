// Two functions of every kernel library: which source it was built from, and whether this processor can run it.

#pragma once

#ifndef MCLSTM_SOURCE
#define MCLSTM_SOURCE "unknown"
#endif

extern "C" {

const char *mclstm_source() { return MCLSTM_SOURCE; }  // digest of the source, so that a stale library is noticed

int mclstm_runs_here() {
#if defined(__AVX512F__)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq");
#elif defined(__AVX2__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return 1;
#endif
}
}
