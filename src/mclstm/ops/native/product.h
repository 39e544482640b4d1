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
// STRIDE is the row stride where it is known (0: it is not); PACKED ones lie as `packed` below leaves them.
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

// Not inlined: the loops in `rows` need every register there is.
template <class T, int W, int STRIDE, int R = height(W)>
__attribute__((noinline)) void product(Index count, Index parts, Index steps, Coefficients<T> by,
                                       const typename Lanes<T>::Vec *X, Index wide, const typename Lanes<T>::Vec *from,
                                       typename Lanes<T>::Vec *to, Index apart) {
    Index r = 0;
    for (; r + R <= count; r += R) {
        rows<T, R, W, STRIDE>(parts, steps, by, X, wide, from + r * apart, to + r * apart, apart);
        by.data += STRIDE == PACKED ? R * steps : R * by.row;
    }
    if constexpr (R > 1)
        if (r < count)
            product<T, W, STRIDE, R - 1>(count - r, parts, steps, by, X, wide, from + r * apart, to + r * apart, apart);
}

// Coefficients (r, p) at r * row + p * step, in the order in which `product` meets them: memory is then read straight through.
template <class T, int W>
T *pack(Index count, Index steps, const T *from, Index row, Index step, T *to) {
    for (Index first = 0, some; first < count; first += some) {
        some = std::min<Index>(height(W), count - first);
        for (Index p = 0; p < steps; ++p)
            for (Index r = first; r < first + some; ++r) *to++ = from[r * row + p * step];
    }
    return to;
}

// The weights (G, K, F) of a member twice, for W z and for its way back.
template <class T, int W>
struct Packed {
    Buffer<T> ahead, back;
    Packed(Index rows, Index cells, Index width, bool backward)
        : ahead(rows * cells * width), back(backward ? rows * cells * width : 0), G(rows), K(cells), F(width), both(backward) {}
    void fill(const T *from) {
        T *to = ahead, *to_back = back;
        for (Index row = 0; row < G; ++row, from += K * F) {
            to = pack<T, W>(K, F, from, F, 1, to);
            if (both) to_back = pack<T, W>(F, K, from, 1, F, to_back);
        }
    }

   private:
    Index G, K, F;
    bool both;
};

// to (count, columns) += coefficients (count, samples) * X (samples, columns), lanes along the columns.
template <class T, int STRIDE>
void outer_product(Index count, Index parts, Index steps, Coefficients<T> by, const typename Lanes<T>::Vec *X, Index columns,
                   typename Lanes<T>::Vec *to) {
    Index w = 0;
    for (; w + 3 <= columns; w += 3) product<T, 3, STRIDE>(count, parts, steps, by, X + w, columns, to + w, to + w, columns);
    if (columns - w == 2) product<T, 2, STRIDE>(count, parts, steps, by, X + w, columns, to + w, to + w, columns);
    if (columns - w == 1) product<T, 1, STRIDE>(count, parts, steps, by, X + w, columns, to + w, to + w, columns);
}

}  // namespace
