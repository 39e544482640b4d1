// From logits to shares and back, for rows of K logits with samples in the lanes: A[k * W + w].
// A row's share of cell j is A_j / n. The only division is 1 / n, and mass is shared out as u (A_j / n): no factor can overflow
// and no mass can vanish. Rows without a positive entry (ReLU only) use their fallback.

#pragma once

#include <limits>

#include "call.h"

namespace {

enum Norm { SOFTMAX, SIGMOID, RELU, LOGISTIC, LINEAR };  // the last two are ablations, whose rows are not normalised: n = 1

inline bool conserves(const Call &call) { return !call.keeps_outflow && call.input_norm <= RELU && call.cell_norm <= RELU; }  // no ablation

template <class T, int W>
struct Sums {
    typename Lanes<T>::Vec inverse[W] = {};  // 1 / n, and 0 for a row without a positive entry
    typename Lanes<T>::Vec flat[W] = {};     // dA/dlogit = A (1 - flat A), but [A > 0] for ReLU
    typename Lanes<T>::Vec top[W] = {};      // the largest logit (not for ReLU)
    const uint8_t *allowed = nullptr;        // which cells may receive mass, or null; for ablations only
};

// Logits become exp(logit - largest of the row), or the logistic function of the logit. Each pass goes over all rows: one exponential
// is a long chain of dependent instructions, and those of other rows fill the gaps.
template <class T, int W>
inline void exponential(typename Lanes<T>::Vec *A, Index count, Index K, Index kind, Sums<T, W> *by) {
    typedef typename Lanes<T>::Vec Vec;
    bool some_deep = false;
    for (Index row = 0; row < count; ++row) {
        Vec *at = A + row * K * W, top[W];
        for (int w = 0; w < W; ++w) top[w] = at[w] = bounded<T>(at[w]);
        for (Index j = W; j < K * W; j += W)
            for (int w = 0; w < W; ++w) {
                const Vec logit = bounded<T>(at[j + w]);
                at[j + w] = logit;
                top[w] = logit > top[w] ? logit : top[w];
            }
        for (int w = 0; w < W; ++w) {
            by[row].top[w] = top[w];
            const auto deep = top[w] < T(-40);  // where the logistic function equals exp, to the last bit
            by[row].flat[w] = kind == SIGMOID ? (deep ? Vec{} : Vec{} + T(1)) : Vec{};
            if (kind == SIGMOID) some_deep |= any(deep), top[w] = deep ? top[w] : Vec{};
        }
        for (Index j = 0; j < K * W; j += W)
            for (int w = 0; w < W; ++w) at[j + w] -= top[w];
    }
    if (kind == SIGMOID && some_deep) {
        for (Index row = 0; row < count; ++row)
            for (Index j = 0; j < K * W; ++j) {
                const Vec logit = A[row * K * W + j];
                A[row * K * W + j] = by[row].flat[j % W] == T(0) ? exp_of<T>(logit) : sigmoid_of<T>(logit);
            }
    } else if (kind == SIGMOID) {
#pragma GCC unroll 4
        for (Index j = 0; j < count * K * W; ++j) A[j] = sigmoid_of<T>(A[j]);
    } else {
#pragma GCC unroll 4
        for (Index j = 0; j < count * K * W; ++j) A[j] = exp_of<T>(A[j]);
    }
}

// Rows of ablations: the logistic function of the logits, or the logits themselves.
template <class T, int W>
inline void unnormalised(typename Lanes<T>::Vec *A, Index count, Index K, Index kind, const uint8_t *allowed, Sums<T, W> *by) {
    typedef typename Lanes<T>::Vec Vec;
    for (Index j = 0; j < count * K * W && kind == LOGISTIC; ++j) A[j] = allowed && !allowed[j / W] ? Vec{} : sigmoid_of<T>(A[j]);
    for (Index row = 0; row < count; ++row) {
        by[row].allowed = allowed ? allowed + row * K : nullptr;
        for (int w = 0; w < W; ++w) by[row].inverse[w] = Vec{} + T(1), by[row].flat[w] = Vec{};
    }
}

// The sum of a row, after its ReLU if it is to have one. Several sums at a time round less than one, and do not wait for each other.
template <class T, int W, bool POSITIVE>
ALWAYS void sum_of(typename Lanes<T>::Vec *row, Index K, typename Lanes<T>::Vec *sum) {
    typedef typename Lanes<T>::Vec Vec;
    constexpr Index PARTS = 4 / W * W;
    const Index count = K * W, whole = count / PARTS * PARTS;
    Vec part[PARTS] = {};
    const auto entry = [&](Index j) { return POSITIVE ? row[j] = bounded<T>(row[j], T(0)) : row[j]; };
    for (Index j = 0; j < whole; j += PARTS)
#pragma GCC unroll 4
        for (Index n = 0; n < PARTS; ++n) part[n] += entry(j + n);
    for (Index j = whole; j < count; ++j) part[j % W] += entry(j);
#pragma GCC unroll 4
    for (Index n = 0; n < PARTS; ++n) sum[n % W] += part[n];
}

// The logits of `count` rows in A -> shares in A, not normalised; `allowed` (count, K) says which cells may receive mass, or is null.
template <class T, int W>
inline void shares(typename Lanes<T>::Vec *A, Index count, Index K, Index kind, const uint8_t *allowed, Sums<T, W> *by) {
    typedef typename Lanes<T>::Vec Vec;
    const T nothing = kind == RELU || kind == LINEAR ? T(0) : -std::numeric_limits<T>::infinity();
    for (Index j = 0; j < count * K && allowed; ++j)
        for (int w = 0; w < W && !allowed[j]; ++w) A[j * W + w] = Vec{} + nothing;
    if (kind > RELU) return unnormalised<T, W>(A, count, K, kind, allowed, by);
    if (kind != RELU) exponential<T, W>(A, count, K, kind, by);
    for (Index j = 0; j < count * K && allowed && kind != RELU; ++j)  // exp_of has a floor
        for (int w = 0; w < W && !allowed[j]; ++w) A[j * W + w] = Vec{};
    for (Index row = 0; row < count; ++row) {
        Vec *at = A + row * K * W, sum[W] = {};
        kind == RELU ? sum_of<T, W, true>(at, K, sum) : sum_of<T, W, false>(at, K, sum);
        for (int w = 0; w < W; ++w)  // 1 / sum would overflow for less
            by[row].inverse[w] = sum[w] < std::numeric_limits<T>::min() ? Vec{} : T(1) / sum[w];
    }
}

// m_j += sum over the rows of u A_j / n; u (count, W), A (count, K, W), fallback (count, K), m (K, W).
template <class T, int W>
inline void share_out(const typename Lanes<T>::Vec *u, const typename Lanes<T>::Vec *A, const Sums<T, W> *by, Index count, Index K, Index kind,
                      const T *fallback, typename Lanes<T>::Vec *m) {
    typedef typename Lanes<T>::Vec Vec;
    for (Index row = 0; row < count; ++row, u += W, A += K * W, ++by, fallback += K) {
        for (Index j = 0; j < K * W; j += W)
            for (int w = 0; w < W; ++w) m[j + w] += u[w] * (A[j + w] * by->inverse[w]);
        for (int w = 0; w < W && kind == RELU; ++w) {
            const auto dead = by->inverse[w] == T(0);
            const Vec left = dead ? u[w] : Vec{};
            for (Index j = 0; j < K && any(dead); ++j) m[j * W + w] += fallback[j] * left;
        }
    }
}

// q = sum_j A_j g_j / n, the gradient of a unit of mass in a row, (count, W); the gradients of the logits overwrite A.
template <class T, int W>
inline void share_back(const typename Lanes<T>::Vec *u, typename Lanes<T>::Vec *A, const Sums<T, W> *by, Index count, Index K, Index kind,
                       const T *fallback, const typename Lanes<T>::Vec *g, typename Lanes<T>::Vec *q) {
    typedef typename Lanes<T>::Vec Vec;
    for (Index row = 0; row < count; ++row, u += W, A += K * W, ++by, fallback += K, q += W) {
        Vec sum[W] = {};
        for (Index j = 0; j < K * W; j += W)
            for (int w = 0; w < W; ++w) sum[w] += A[j + w] * by->inverse[w] * g[j + w];  // A g alone could overflow
        for (int w = 0; w < W; ++w) {
            const auto dead = by->inverse[w] == T(0);
            for (Index j = 0; j < K && kind == RELU && any(dead); ++j) sum[w] += dead ? fallback[j] * g[j * W + w] : Vec{};
            q[w] = sum[w];
        }
        if (kind > RELU) {  // dA = u g: entries do not depend on each other
            for (Index j = 0; j < K; ++j)
                for (int w = 0; w < W; ++w) {
                    const Vec share = A[j * W + w], open = Vec{} + T(!by->allowed || by->allowed[j]);
                    A[j * W + w] = (kind == LOGISTIC ? slope_of<T>(share, T(1) - share) : open) * u[w] * g[j * W + w];
                }
        } else if (kind == RELU) {
            for (Index j = 0; j < K * W; j += W)
                for (int w = 0; w < W; ++w) A[j + w] = (A[j + w] > T(0)) & (A[j + w] < Exp<T>::logit_limit) ? by->inverse[w] * (u[w] * (g[j + w] - sum[w])) : Vec{};
        } else {
            Vec part[W];  // no slope where the largest logit is cut off: the others are zero
            for (int w = 0; w < W; ++w) {
                const auto cut = (by->top[w] >= Exp<T>::logit_limit) | (by->top[w] <= -Exp<T>::logit_limit);
                part[w] = cut ? Vec{} : u[w];
            }
            for (Index j = 0; j < K * W; j += W)
                for (int w = 0; w < W; ++w) {
                    const Vec share = A[j + w];
                    A[j + w] = share * by->inverse[w] * (T(1) - by->flat[w] * share) * (part[w] * (g[j + w] - sum[w]));
                }
        }
    }
}

// The fallback rows, (M + K, K): inputs spread evenly; the mass of a cell stays, or spreads evenly where it may not stay.
template <class T>
void fallback_rows(const Call &p, T *to) {
    for (Index row = 0; row < p.M + p.K; ++row)
        for (Index j = 0; j < p.K; ++j, ++to) {
            const Index k = row - p.M;
            const uint8_t *allowed = p.mask && k >= 0 ? p.mask + k * p.K : nullptr;
            Index takers = 0;
            for (Index n = 0; n < p.K; ++n) takers += !allowed || allowed[n];
            const bool stays = k >= 0 && (!allowed || allowed[k]);
            *to = stays ? T(j == k) : (!allowed || allowed[j] ? T(1) / T(takers) : T(0));
        }
}

// A redistribution that is the same at every step: R (K, K) of one member from its logits, and the gradients of the logits.
template <class T>
class Fixed {
    typedef typename Lanes<T>::Vec Vec;
    static constexpr Index V = Lanes<T>::V;

   public:
    explicit Fixed(const Call &call) : R(call.K * call.K), p(call), row_(call.K * V), unit_(V), worth_(call.K * V), rows_((call.M + call.K) * call.K) {
        unit_.fill(T(1));
        fallback_rows<T>(p, rows_);
    }

    Buffer<T> R;

    void set(Index member) {
        R.clear();
        for (Index k = 0; k < p.K; ++k) {
            worth_.clear();
            const Sums<T, 1> by = row(member, k);
            share_out<T, 1>(unit_.at(0), row_.at(0), &by, 1, p.K, p.cell_norm, rows_ + (p.M + k) * p.K, worth_.at(0));
            for (Index j = 0; j < p.K; ++j) R[k * p.K + j] = worth_[j * V];
        }
    }

    void back(Index member, const T *dR, T *dB, bool first) {  // both (K, K)
        for (Index k = 0; k < p.K; ++k) {
            const Sums<T, 1> by = row(member, k);
            Vec q;
            for (Index j = 0; j < p.K; ++j) worth_.at(j * V)[0] = Vec{} + dR[k * p.K + j];
            share_back<T, 1>(unit_.at(0), row_.at(0), &by, 1, p.K, p.cell_norm, rows_ + (p.M + k) * p.K, worth_.at(0), &q);
            for (Index j = 0; j < p.K; ++j) dB[k * p.K + j] = (first ? T(0) : dB[k * p.K + j]) + row_[j * V];
        }
    }

   private:
    const Call &p;
    Buffer<T> row_, unit_, worth_, rows_;

    Sums<T, 1> row(Index member, Index k) {
        const T *logits = static_cast<const T *>(p.B_r) + (member * p.K + k) * p.K;
        for (Index j = 0; j < p.K; ++j) row_.at(j * V)[0] = Vec{} + logits[j];
        Sums<T, 1> by;
        shares<T, 1>(row_.at(0), 1, p.K, p.cell_norm, p.mask ? p.mask + k * p.K : nullptr, &by);
        return by;
    }
};

// Stores this small count as empty and are not normalised, as in ops/reference.py: the same number for both types.
constexpr float EMPTY = std::numeric_limits<float>::min() / std::numeric_limits<float>::epsilon();

template <class T>
inline typename Lanes<T>::Vec magnitude(typename Lanes<T>::Vec v) {
    return v < T(0) ? -v : v;
}

// to += the gradient of the cells c, from the gradient `down` of the normalised state c / sum, with sum the total of c.
template <class T, int W>
inline void state_back(const typename Lanes<T>::Vec *c, const typename Lanes<T>::Vec *state, const typename Lanes<T>::Vec *down,
                       typename Lanes<T>::Vec sum, typename Lanes<T>::Vec here, Index K, bool is_signed, typename Lanes<T>::Vec *to) {
    typedef typename Lanes<T>::Vec Vec;
    const auto stored = sum > T(EMPTY);
    const Vec by = here / (stored ? sum : Vec{} + T(1));
    Vec inner{};
    for (Index k = 0; k < K; ++k) inner += down[k * W] * state[k * W];
    inner = stored ? inner : Vec{};
    for (Index k = 0; k < K; ++k) {
        const Vec sign = c[k * W] > T(0) ? Vec{} + T(1) : (c[k * W] < T(0) ? Vec{} - T(1) : Vec{});
        to[k * W] += (down[k * W] - (is_signed ? inner * sign : inner)) * by;
    }
}

}  // namespace
