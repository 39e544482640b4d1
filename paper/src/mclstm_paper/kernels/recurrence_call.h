// The arguments of a recurrence call, mirrored in kernels/recurrence.py, and what all cells share.
//
// Every cell multiplies u_t = [x_t, h_{t-1}] by one matrix A (R, I + O) and has further parameters v. Its state is h, or h and c.

#pragma once

#include <cmath>
#include <limits>

#include "call.h"
#include "product.h"

extern "C" {
struct Recurrence {
    int64_t E, T, B, I, O, S, R, extra;    // members, steps, samples, inputs, outputs, rows of the state and of A, length of v
    int64_t cell, variant, wide, threads;  // cell by number, its variant; 0: float32, 1: float64; threads
    View x, start, h, end;                 // (E, T, B, I), (E, B, S), (E, T, B, O), (E, B, S)
    View dh, dend, dx, dstart;             // gradients; null: zero, or not needed
    const void *A, *v;                     // contiguous, (E, R, I + O), (E, extra)
    void *dA, *dv;
};
}

namespace {

// What cells have in common. A row is W vectors, N samples side by side; gradients are summed lane by lane.
template <class T, int W>
class Cell {
   public:
    typedef typename Lanes<T>::Vec Vec;
    static constexpr Index V = Lanes<T>::V, N = W * V;

    explicit Cell(const Recurrence &call)
        : p(call), I(call.I), O(call.O), C(call.I + call.O), R(call.R), dz(R * N), none(std::max(R, C) * N), dA_x(R * I * V), dA_h(R * O * V),
          dv(call.extra * V) {}

    void begin(Index member) {
        A = static_cast<const T *>(p.A) + member * R * C;
        v = static_cast<const T *>(p.v) + member * p.extra;
        for (Buffer<T> *sums : {&dA_x, &dA_h, &dv}) sums->clear();
    }

    void reduce(Index member) {
        T *to = static_cast<T *>(p.dA) + member * R * C, *more = static_cast<T *>(p.dv) + member * p.extra;
        for (Index r = 0; r < R; ++r, to += C) {
            for (Index j = 0; j < I; ++j) to[j] = total_of<T>(*dA_x.at((r * I + j) * V));
            for (Index j = 0; j < O; ++j) to[I + j] = total_of<T>(*dA_h.at((r * O + j) * V));
        }
        for (Index k = 0; k < p.extra; ++k) more[k] = total_of<T>(*dv.at(k * V));
    }

   protected:
    const Recurrence &p;
    const Index I, O, C, R;
    const T *A = nullptr, *v = nullptr;
    Buffer<T> dz, none, dA_x, dA_h, dv;

    // to = from + A u, of rows [first, first + count) and columns [left, left + wide) of A.
    void multiply(Index first, Index count, Index left, Index wide, const Vec *u, const Vec *from, Vec *to) {
        product<T, W, 0>(count, 1, wide, {A + first * C + left, C, 0, 1}, u, W, from, to, W);
    }

    // du = from + A^T d, of the same part of A.
    void multiply_back(Index first, Index count, Index left, Index wide, const Vec *d, const Vec *from, Vec *du) {
        product<T, W, 0>(wide, 1, count, {A + first * C + left, 1, 0, C}, d, W, from, du, W);
    }

    // The gradient of the rows of A from `first` on, whose products with u have the gradient d.
    void learn(Index first, Index count, const Vec *d, const Vec *u) {
        lane_products<T, W>(count, I, d, u, dA_x.at(first * I * V));
        lane_products<T, W>(count, O, d, u + I * W, dA_h.at(first * O * V));
    }

    // The gradient of number `which` of v.
    void learn_extra(Index which, const Vec *d) {
        Vec &sum = *dv.at(which * V);
        for (int w = 0; w < W; ++w) sum += d[w];
    }
};

template <class T>
ALWAYS typename Lanes<T>::Vec root_of(typename Lanes<T>::Vec z) {
    for (Index lane = 0; lane < Lanes<T>::V; ++lane) z[lane] = std::sqrt(z[lane]);
    return z;
}

template <class T>
ALWAYS typename Lanes<T>::Vec size_of(typename Lanes<T>::Vec z) {
    return z < T(0) ? -z : z;
}

// Half the exponent twice: too large values become infinite here, while `exp_of` stops at its limit.
template <class T>
ALWAYS typename Lanes<T>::Vec power_of(typename Lanes<T>::Vec z) {
    const typename Lanes<T>::Vec root = exp_of<T>(T(0.5) * z);
    return z == z ? root * root : z;
}

// log(m 2^n) = n log 2 + 2 (s + s³/3 + s⁵/5 + ...), s = (m - 1) / (m + 1), m between √½ and √2. For normal numbers; ∞ and NaN stay.
template <class T>
ALWAYS typename Lanes<T>::Vec log_of(typename Lanes<T>::Vec x) {
    typedef typename Lanes<T>::Vec Vec;
    typedef typename Lanes<T>::Bits Bits;
    typedef typename Lanes<T>::Word Word;
    constexpr int shift = Exp<T>::shift, terms = sizeof(T) == 4 ? 6 : 12;
    constexpr Word one = sizeof(T) == 4 ? Word(0x3f800000) : Word(0x3ff0000000000000), root = sizeof(T) == 4 ? Word(0x3f3504f3) : Word(0x3fe6a09e667f3bcd);
    const Bits bits = (Bits)x, offset = (bits + (one - root)) >> shift;  // the exponent with its bias, rounded so that m is around 1
    const Vec m = (Vec)(bits - ((offset - (one >> shift)) << shift));
    Vec n;
    for (Index lane = 0; lane < Lanes<T>::V; ++lane) n[lane] = T(std::make_signed_t<Word>(offset[lane] - (one >> shift)));
    const Vec s = (m - T(1)) / (m + T(1)), square = s * s;
    Vec sum = Vec{} + T(1) / T(2 * terms - 1);
#pragma GCC unroll 16
    for (int k = terms - 1; k > 0; --k) sum = sum * square + T(1) / T(2 * k - 1);
    const Vec found = n * Exp<T>::ln2_high + (n * Exp<T>::ln2_rest + T(2) * s * sum);
    return x <= std::numeric_limits<T>::max() ? found : x;
}

}  // namespace
