// What rounding lost or made in a step is given back, so that the mass of thousands of steps closes like that of one.
//
// A store that hardly changes is rounded the same way at every step, and that adds up. The difference between what there was and
// what there is, found by a compensated sum, goes to the smallest cell that is large beside it: the smaller a cell, the less is rounded
// away when something is added to it; but one that is not large beside it would be changed beyond its own rounding.

#pragma once

#include <limits>

#include "call.h"
#include "shares.h"

namespace {

constexpr int LARGE = 1 << 12;  // times what is given: a cell is changed by 1/4096 of itself at most

// Not where mass may go from a cell to some others only: what is given back would cross.
inline bool settles(const Call &call) { return conserves(call) && call.form != IDENTITY && !call.mask; }

// sum + value, and what that rounds away (Knuth's two-sum).
template <class T>
ALWAYS void add_exactly(typename Lanes<T>::Vec value, typename Lanes<T>::Vec &sum, typename Lanes<T>::Vec &lost) {
    const auto after = sum + value, added = after - sum;
    lost += (sum - (after - added)) + (value - added);
    sum = after;
}

// One vector of samples, rows W vectors apart: `before` what came and was stored, `out` what left, `cell` what is stored now.
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
