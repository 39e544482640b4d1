// Random numbers by address: Philox 4x32-10 (Salmon et al., 2011) encrypts a counter, so that any number can be computed without those
// before it. seeds/streams.py computes the same numbers.

#pragma once

#include "lanes.h"
#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace {

typedef uint32_t Words __attribute__((vector_size(32)));  // one word of eight blocks
constexpr Index SIDE_BY_SIDE = 4;                         // vectors in parallel, since one alone waits for its multiplications
constexpr Index PHILOX_BLOCKS = 8 * SIDE_BY_SIDE;

// Both halves of a 32 x 32 bit product; vector extensions have no operation for it.
inline void multiply(Words value, uint32_t factor, Words &high, Words &low) {
#if defined(__AVX2__)
    const __m256i v = (__m256i)value, f = _mm256_set1_epi32(int(factor));
    const __m256i even = _mm256_mul_epu32(v, f), odd = _mm256_mul_epu32(_mm256_srli_epi64(v, 32), f);
    low = (Words)_mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA);
    high = (Words)_mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
#else
    for (int lane = 0; lane < 8; ++lane) {
        const uint64_t product = uint64_t(value[lane]) * factor;
        high[lane] = uint32_t(product >> 32), low[lane] = uint32_t(product);
    }
#endif
}

struct Philox {
    Words word[4][SIDE_BY_SIDE];

    void round(uint32_t low, uint32_t high) {
        for (Index v = 0; v < SIDE_BY_SIDE; ++v) {
            Words first[2], second[2];  // high half, low half
            multiply(word[0][v], 0xD2511F53u, first[0], first[1]);
            multiply(word[2][v], 0xCD9E8D57u, second[0], second[1]);
            word[0][v] = second[0] ^ word[1][v] ^ low;
            word[2][v] = first[0] ^ word[3][v] ^ high;
            word[1][v] = second[1];
            word[3][v] = first[1];
        }
    }

    void encrypt(uint64_t key) {
        uint32_t low = uint32_t(key), high = uint32_t(key >> 32);
        for (int turn = 0; turn < 10; ++turn, low += 0x9E3779B9u, high += 0xBB67AE85u) round(low, high);
    }
};

// One item: number n is word n / blocks of block n % blocks; 24 bits, which a float holds exactly.
inline void uniform_item(uint64_t seed, uint64_t position, uint32_t stream, Index numbers, float *out) {
    typedef int32_t Signed __attribute__((vector_size(32)));
    typedef float Floats __attribute__((vector_size(32)));
    const Index blocks = (numbers + 3) / 4;
    const Words count = {0, 1, 2, 3, 4, 5, 6, 7};
    for (Index start = 0; start < blocks; start += PHILOX_BLOCKS) {
        Philox lanes;
        for (Index v = 0; v < SIDE_BY_SIDE; ++v) {
            lanes.word[0][v] = count + uint32_t(start + 8 * v);
            lanes.word[1][v] = Words{} + uint32_t(position);
            lanes.word[2][v] = Words{} + uint32_t(position >> 32);
            lanes.word[3][v] = Words{} + stream;
        }
        lanes.encrypt(seed);
        const bool whole = start + PHILOX_BLOCKS <= numbers - 3 * blocks;  // a copy of known size is one instruction, any other is a call
        for (Index w = 0; w < 4; ++w)
            for (Index v = 0; v < SIDE_BY_SIDE; ++v) {
                const Index from = start + 8 * v, here = std::min<Index>({8, blocks - from, numbers - w * blocks - from});
                const Floats values = __builtin_convertvector((Signed)(lanes.word[w][v] >> 8), Floats) * 0x1p-24f;
                float *to = out + w * blocks + from;
                if (whole)
                    std::memcpy(to, &values, sizeof(values));
                else if (here > 0)
                    std::memcpy(to, &values, size_t(here) * sizeof(float));
            }
    }
}

}  // namespace
