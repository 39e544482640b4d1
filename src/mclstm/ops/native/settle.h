// Gives back what the rounding of a step lost, as ops/settle.py does: the mass before a step is compared with the mass after it by a
// compensated sum, and the difference goes to cells and outflows in portions of a few epsilons of each.

#pragma once

#include <cmath>
#include <limits>

#include "call.h"
#include "shares.h"

namespace {

// The books of one step, for a block of samples; rows lie W vectors apart.
template <class T, int W>
class Books {
    typedef typename Lanes<T>::Vec Vec;

   public:
    void add(const Vec *rows, Index count) { enter<1>(rows, count); }

    // What is missing is given to the cells and then to the outflows, where a sample is `live`.
    void settle(Vec *out, Vec *cell, Index K, const Vec *live) {
        enter<-1>(out, K);
        enter<-1>(cell, K);
        for (int w = 0; w < W; ++w) {
            const Vec rest = sum_[w] + lost_[w];
            sum_[w] = (live[w] != T(0)) & (rest - rest == T(0)) ? rest : Vec{};  // the sum of large amounts may overflow
        }
        give(cell, K);
        give(out, K);
    }

   private:
    Vec sum_[W] = {}, lost_[W] = {};

    template <int SIGN>
    void enter(const Vec *rows, Index count) {
        for (Index k = 0; k < count; ++k)
#pragma GCC unroll 4
            for (int w = 0; w < W; ++w) {  // Knuth's two-sum
                const Vec value = SIGN > 0 ? rows[k * W + w] : -rows[k * W + w], after = sum_[w] + value, added = after - sum_[w];
                lost_[w] += (sum_[w] - (after - added)) + (value - added);
                sum_[w] = after;
            }
    }

    // An amount takes about four epsilons of itself at most, so that its sign stays; what that rounds away remains to be given.
    void give(Vec *rows, Index count) {
        const T portion = 4 * std::numeric_limits<T>::epsilon();
        for (Index k = 0; k < count; ++k)
#pragma GCC unroll 4
            for (int w = 0; w < W; ++w) {
                const Vec amount = rows[k * W + w], most = magnitude<T>(amount) * portion;
                const Vec below = sum_[w] < most ? sum_[w] : most, part = below > -most ? below : -most, after = amount + part;
                sum_[w] -= after - amount;
                rows[k * W + w] = after;
            }
    }
};

// Whether numbers below the smallest normal one may be flushed to zero: a step flushes at most K (K + M + 3) products, which is less
// than its rounding if the mass of every sample is large from the start. Samples without any mass lose nothing.
template <class T>
bool flushable(const Call &p, Index member, Index first, Index count) {
    const T least = T(p.K * (p.K + p.M + 3)) * std::numeric_limits<T>::min() / std::numeric_limits<T>::epsilon();
    const auto total = [&](const View &view, Index t, Index n, Index width) {
        const Place<T> at(view, member, t, n);
        T sum = 0;
        for (Index k = 0; k < width; ++k) sum += std::abs(at.data[k * at.entry]);
        return sum;
    };
    for (Index n = first; n < first + count; ++n) {
        T mass = total(p.c0, 0, n, p.K);
        for (Index t = 0; t < p.T && !(mass > 0); ++t) mass = p.M ? total(p.x, t, n, p.M) : T(0);
        if (mass > 0 && mass < least) return false;
    }
    return true;
}

}  // namespace
