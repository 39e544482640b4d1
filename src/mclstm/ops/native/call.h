// What a caller passes: sizes, options, and the address of every tensor. native/call.py fills it field by field.
// Letters as in ops/problem.py: E members, T steps, B samples, M mass inputs, A auxiliary and S static inputs, K cells,
// F features in the order a, s, c / |c|, x, as far as the gates see them.

#pragma once

#include "lanes.h"

extern "C" {
// A tensor (E, T, B, entries) with strides counted in elements; a stride of 0 means that entries are shared.
struct View {
    void *data;  // null: missing, or not wanted
    int64_t member, step, sample, entry;
};

struct Call {
    int64_t E, T, B, M, A, S, K, F;
    int64_t wide;                              // 0: float32, 1: float64
    int64_t form;                              // of R; 0: identity, 1: static, 2: dynamic
    int64_t keeps_outflow;                     // 1: outflow is not taken from the cells (an ablation)
    int64_t input_norm, cell_norm;             // 0: softmax, 1: sigmoid, 2: relu; ablations: 3: plain sigmoid, 4: the logits
    int64_t sees_state, sees_mass, is_signed;
    int64_t last;                              // 1: h, dh and dc are of the last step only, (E, B, K), and c ends before it
    int64_t threads;
    View x, a, s, c0;                          // tensors that are the same at every step, such as s and c0, have step stride 0
    View h, c, end;                            // (E, T, B, K), (E, T + 1, B, K), c after the last step; the backward pass reads c only
    View dh, dc, dx, da, ds, dc0;
    const void *W_i, *b_i, *W_o, *b_o, *W_r, *B_r;  // contiguous, (E, M, K, F), (E, M, K), (E, K, F), (E, K), (E, K, K, F), (E, K, K)
    const uint8_t *mask, *valid;                    // (K, K), (T, B), or null
    void *dW_i, *db_i, *dW_o, *db_o, *dW_r, *dB_r;
};
}

namespace {

inline const View &cells_after(const Call &p, Index t) { return p.last && t + 1 == p.T ? p.end : p.c; }

enum Form { IDENTITY, STATIC, DYNAMIC };

// The gates of a member as rows of K logits: M of the input gate, K of a dynamic redistribution, 1 of the output gate.
template <class T>
class Rows {
   public:
    Rows(const Call &call, Index member) : p(call), member_(member), cells_(call.form == DYNAMIC ? call.K : 0) {}
    static Index count(const Call &call) { return call.M + (call.form == DYNAMIC ? call.K : 0) + 1; }
    const T *W(Index row) const { return of(row, p.W_i, p.W_r, p.W_o, p.K * p.F); }  // (K, F)
    const T *b(Index row) const { return of(row, p.b_i, p.B_r, p.b_o, p.K); }        // (K)
    T *dW(Index row) const { return const_cast<T *>(of(row, p.dW_i, p.dW_r, p.dW_o, p.K * p.F)); }
    T *db(Index row) const { return const_cast<T *>(of(row, p.db_i, p.dB_r, p.db_o, p.K)); }

   private:
    const Call &p;
    Index member_, cells_;

    const T *of(Index row, const void *input, const void *cell, const void *output, Index size) const {
        if (row < p.M) return static_cast<const T *>(input) + (member_ * p.M + row) * size;
        if (row < p.M + cells_) return static_cast<const T *>(cell) + (member_ * p.K + row - p.M) * size;
        return static_cast<const T *>(output) + member_ * size;
    }
};

// A member's part of a view at one step, starting at a sample.
template <class T>
struct Place {
    T *data;
    Index sample, entry;
    Place(const View &view, Index member, Index step, Index first)
        : data(static_cast<T *>(view.data) + member * view.member + step * view.step + first * view.sample), sample(view.sample),
          entry(view.entry) {}
};

// From memory to lanes and back: `width` rows of N lanes per block, blocks `apart` elements from each other; `count` samples.
// Row by row, which is the order of memory where samples are adjacent. Whole vectors are copied there, because reading a vector
// that was written in pieces is slow.
template <class T, Index N>
void load(const Place<T> &from, Index count, Index width, T *to, Index apart) {
    typedef typename Lanes<T>::Vec Vec;
    const Index sample = from.sample, whole = sample == 1 ? count / N : 0;
    for (Index k = 0; k < width; ++k) {
        const T *source = from.data + k * from.entry;
        T *target = to + k * N;
        for (Index b = 0; b < whole; ++b, source += N, target += apart)
            for (Index n = 0; n < N; n += Lanes<T>::V) *reinterpret_cast<Vec *>(target + n) = unaligned(source + n);
        for (Index first = whole * N; first < count; first += N, source += N * sample, target += apart)
            for (Index n = 0; n < std::min(N, count - first); ++n) target[n] = source[n * sample];
    }
}

template <class T, Index N>
void store(const T *from, Index apart, Index count, Index width, const Place<T> &to) {
    typedef typename Lanes<T>::Vec Vec;
    const Index sample = to.sample, whole = sample == 1 ? count / N : 0;
    for (Index k = 0; k < width; ++k) {
        const T *source = from + k * N;
        T *target = to.data + k * to.entry;
        for (Index b = 0; b < whole; ++b, source += apart, target += N)
            for (Index n = 0; n < N; n += Lanes<T>::V) {
                const Vec lanes = *reinterpret_cast<const Vec *>(source + n);
                std::memcpy(target + n, &lanes, sizeof(lanes));
            }
        for (Index first = whole * N; first < count; first += N, source += apart, target += N * sample)
            for (Index n = 0; n < std::min(N, count - first); ++n) target[n * sample] = source[n];
    }
}

template <class T>
void add(const T *from, Index count, T *to, bool first) {
    for (Index k = 0; k < count; ++k) to[k] = (first ? T(0) : to[k]) + from[k];
}

}  // namespace
