// Corrects the rounding error of a step's mass balance, so that thousands of steps close as well as one.
//
// A store that hardly changes is rounded the same way at every step, and these errors add up. The difference between the mass before
// and after a step, computed by a compensated sum, is added to the smallest cell that is large compared with it. Adding to a small cell
// rounds away less; but a cell that is not large compared with the difference would change by more than its own rounding.

#pragma once

#include <limits>

#include "call.h"
#include "shares.h"

namespace {

constexpr int LARGE = 1 << 12;  // times the correction: a cell changes by at most 1/4096 of itself

// Not with a mask or the identity: the correction could move mass between cells that must not exchange any.
inline bool settles(const Call &call) { return conserves(call) && call.form != IDENTITY && !call.mask; }

// sum + value, and the rounding error of the sum (Knuth's two-sum).
template <class T>
ALWAYS void add_exactly(typename Lanes<T>::Vec value, typename Lanes<T>::Vec &sum, typename Lanes<T>::Vec &lost) {
    const auto after = sum + value, added = after - sum;
    lost += (sum - (after - added)) + (value - added);
    sum = after;
}

// One vector of samples, rows W vectors apart: `before` inflow and storage before the step, `out` outflow, `cell` storage after.
template <class T, int W>
void settle(const typename Lanes<T>::Vec *before, Index rows, const typename Lanes<T>::Vec *out, typename Lanes<T>::Vec live,
            typename Lanes<T>::Vec *cell, Index K) {
    typedef typename Lanes<T>::Vec Vec;
    Vec sum{}, lost{}, best = Vec{} + std::numeric_limits<T>::max();
    for (Index k = 0; k < rows; ++k) add_exactly<T>(before[k * W], sum, lost);
    for (Index k = 0; k < K; ++k) add_exactly<T>(-out[k * W], sum, lost), add_exactly<T>(-cell[k * W], sum, lost);
    Vec rest = live != T(0) ? sum + lost : Vec{};
    const Vec least = magnitude<T>(rest) * T(LARGE);
    for (Index k = 0; k < K; ++k) {
        const Vec held = magnitude<T>(cell[k * W]);
        best = (held >= least) & (held < best) ? held : best;
    }
    for (Index k = 0; k < K; ++k) {
        const auto here = magnitude<T>(cell[k * W]) == best;
        cell[k * W] += here ? rest : Vec{};
        rest = here ? Vec{} : rest;
    }
}

}  // namespace
