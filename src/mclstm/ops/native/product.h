// The one micro-kernel: rows of sums of coefficient times vector, kept in registers.

#pragma once

#include "lanes.h"

namespace {

// How many rows are summed at once: 12 of AVX2's 16 registers, 16 to 24 of AVX-512's 32.
#if defined(__AVX512F__)
constexpr int height(int) { return 8; }
#else
constexpr int height(int width) { return 12 / width; }
#endif

// The coefficients of a product, element (r, q, p) at r * row + q * part + p * step; parts let a sum run over blocks of samples.
// STRIDE is the row stride where it is known at compile time, else 0; PACKED coefficients have the layout of `packed` below.
constexpr int PACKED = -1;
template <class T>
struct Coefficients {
    const T *data;
    Index row, part, step;
};

// to[r] = from[r] + sum_q sum_p coefficient(r, q, p) * X[q, p]: R rows of W vectors each, the sums in registers.
template <class T, int R, int W, int STRIDE>
inline void rows(Index parts, Index steps, Coefficients<T> by, const typename Lanes<T>::Vec *X, Index wide,
                 const typename Lanes<T>::Vec *from, typename Lanes<T>::Vec *to, Index apart) {
    typedef typename Lanes<T>::Vec Vec;
    const Index row = STRIDE == PACKED ? 1 : STRIDE > 0 ? STRIDE : by.row, step = STRIDE == PACKED ? R : by.step;
    Vec sum[R][W];
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int w = 0; w < W; ++w) sum[r][w] = from[r * apart + w];
    for (Index q = 0; q < parts; ++q) {
        const T *coefficient = by.data + q * by.part;
        for (Index p = 0; p < steps; ++p, X += wide, coefficient += step) {
            Vec x[W];
#pragma GCC unroll 4
            for (int w = 0; w < W; ++w) x[w] = X[w];
#pragma GCC unroll 16
            for (int r = 0; r < R; ++r) {
                const T factor = coefficient[r * row];
#pragma GCC unroll 4
                for (int w = 0; w < W; ++w) sum[r][w] += factor * x[w];
            }
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
        for (int w = 0; w < W; ++w) to[r * apart + w] = sum[r][w];
}

template <class T, int R, int W, int STRIDE>
inline void last_rows(Index count, Index parts, Index steps, Coefficients<T> by, const typename Lanes<T>::Vec *X, Index wide,
                      const typename Lanes<T>::Vec *from, typename Lanes<T>::Vec *to, Index apart) {
    if (count == R) return rows<T, R, W, STRIDE>(parts, steps, by, X, wide, from, to, apart);
    if constexpr (R > 1) last_rows<T, R - 1, W, STRIDE>(count, parts, steps, by, X, wide, from, to, apart);
}

// Not inlined: the loops in `rows` need all registers.
template <class T, int W, int STRIDE, int R = height(W)>
__attribute__((noinline)) void product(Index count, Index parts, Index steps, Coefficients<T> by,
                                       const typename Lanes<T>::Vec *X, Index wide, const typename Lanes<T>::Vec *from,
                                       typename Lanes<T>::Vec *to, Index apart) {
    for (; count >= R; count -= R, from += R * apart, to += R * apart) {
        rows<T, R, W, STRIDE>(parts, steps, by, X, wide, from, to, apart);
        by.data += STRIDE == PACKED ? R * steps : R * by.row;
    }
    if constexpr (R > 1) last_rows<T, R - 1, W, STRIDE>(count, parts, steps, by, X, wide, from, to, apart);
}

// Coefficients (r, p) at r * row + p * step, in the order in which `product` uses them, so that memory is read sequentially.
// The `gap` features from `skip` on are left out: they belong to inputs that do not change from step to step.
template <class T, int W>
T *pack(Index count, Index steps, const T *from, Index row, Index step, Index skip, Index gap, bool features_are_rows, T *to) {
    for (Index first = 0, some; first < count; first += some) {
        some = std::min<Index>(height(W), count - first);
        for (Index p = 0; p < steps; ++p)
            for (Index r = first; r < first + some; ++r) {
                const Index beyond = (features_are_rows ? r : p) < skip ? 0 : gap;
                *to++ = from[(r + (features_are_rows ? beyond : 0)) * row + (p + (features_are_rows ? 0 : beyond)) * step];
            }
    }
    return to;
}

// to (count, columns) += coefficients (count, samples) * X (samples, columns), lanes along the columns.
template <class T, int STRIDE>
void outer_product(Index count, Index parts, Index steps, Coefficients<T> by, const typename Lanes<T>::Vec *X, Index columns,
                   typename Lanes<T>::Vec *to) {
    Index w = 0;
    for (; w + 3 <= columns; w += 3) product<T, 3, STRIDE>(count, parts, steps, by, X + w, columns, to + w, to + w, columns);
    if (columns - w == 2) product<T, 2, STRIDE>(count, parts, steps, by, X + w, columns, to + w, to + w, columns);
    if (columns - w == 1) product<T, 1, STRIDE>(count, parts, steps, by, X + w, columns, to + w, to + w, columns);
}

// For one sample: to[k * apart] = from[k * apart] + W_k z, W (K, F), lanes along the features; every weight is read once.
template <class T>
__attribute__((noinline)) void dots(Index K, Index F, const T *W, const T *z, const T *from, T *to, Index apart) {
    typedef typename Lanes<T>::Vec Vec;
    constexpr Index V = Lanes<T>::V, H = 4;
    for (Index k = 0; k < K; k += H) {
        const Index some = std::min(H, K - k);
        const T *row[H];
        for (Index r = 0; r < H; ++r) row[r] = W + (k + std::min(r, some - 1)) * F;
        Vec sum[H] = {};
        Index f = 0;
        for (; f + V <= F; f += V) {
            const Vec x = unaligned(z + f);
#pragma GCC unroll 4
            for (Index r = 0; r < H; ++r) sum[r] += x * unaligned(row[r] + f);
        }
        for (Index r = 0; r < some; ++r) {
            T rest = total_of<T>(sum[r]);
            for (Index n = f; n < F; ++n) rest += row[r][n] * z[n];
            to[(k + r) * apart] = from[(k + r) * apart] + rest;
        }
    }
}

// The backward pass of `dots`: dz += sum_k d[k * apart] W_k.
template <class T>
__attribute__((noinline)) void dots_back(Index K, Index F, const T *W, const T *d, Index apart, T *dz) {
    typedef typename Lanes<T>::Vec Vec;
    constexpr Index V = Lanes<T>::V, H = 4;
    for (Index k = 0; k < K; k += H) {
        const Index some = std::min(H, K - k);
        const T *row[H];
        T by[H];
        for (Index r = 0; r < H; ++r) row[r] = W + (k + std::min(r, some - 1)) * F, by[r] = r < some ? d[(k + r) * apart] : T(0);
        Index f = 0;
        for (; f + V <= F; f += V) {
            Vec sum = unaligned(dz + f);
#pragma GCC unroll 4
            for (Index r = 0; r < H; ++r) sum += by[r] * unaligned(row[r] + f);
            std::memcpy(dz + f, &sum, sizeof(sum));
        }
        for (; f < F; ++f)
            for (Index r = 0; r < H; ++r) dz[f] += by[r] * row[r][f];
    }
}

// to[k, j] += x[k] y[j], lane by lane, summed over the W vectors of a block; for results that fit in L1.
template <class T, int W>
inline void lane_products(Index rows, Index columns, const typename Lanes<T>::Vec *x, const typename Lanes<T>::Vec *y, typename Lanes<T>::Vec *to) {
    typedef typename Lanes<T>::Vec Vec;
    Index k = 0;
    for (; k + 2 <= rows; k += 2, x += 2 * W, to += 2 * columns)
        for (Index j = 0; j < columns; ++j) {
            Vec one = to[j], other = to[columns + j];
            for (int w = 0; w < W; ++w) {
                one += x[w] * y[j * W + w];
                other += x[W + w] * y[j * W + w];
            }
            to[j] = one;
            to[columns + j] = other;
        }
    for (Index j = 0; j < columns && k < rows; ++j) {
        Vec one = to[j];
        for (int w = 0; w < W; ++w) one += x[w] * y[j * W + w];
        to[j] = one;
    }
}

}  // namespace
