// What a caller hands over: sizes, options, and where every tensor lies. Mirrored field by field in native/library.py.
// Letters as in manual.py: E members, T steps, B samples, M mass inputs, A auxiliary inputs, K cells, G rows, F features.

#pragma once

#include "lanes.h"

extern "C" {
// A tensor (E, T, B, entries) anywhere in memory, its strides counted in elements; a stride of 0 means it is shared.
struct View {
    void *data;  // null: not there, or not wanted
    int64_t member, step, sample, entry;
};

struct Call {
    int64_t E, T, B, M, A, K, G, F;
    int64_t wide;                   // 0: float32, 1: float64
    int64_t input_norm, cell_norm;  // 0: softmax, 1: sigmoid, 2: relu; not normalised, 3: sigmoid, 4: the logits themselves
    int64_t sees_state, sees_mass, is_signed;
    int64_t keeps_outflow;          // whether what flows out stays in the cells all the same
    int64_t own_base;               // whether every sample has a base of its own
    int64_t threads;
    View x, a, c0;                             // of c0, dc0 the step is nothing
    View h, c;                                 // h (E, T, B, K), c (E, T + 1, B, K)
    View dh, dc, dx, da, dc0;
    const void *W, *base, *fixed, *fallback;   // contiguous; fixed (E, K, K): static R or null; fallback (M + K, K)
    const uint8_t *mask, *valid;               // (K, K), (T, B), or null
    void *dW, *dbase, *dfixed;                 // contiguous
};
}

namespace {

// A member's part of a view at one step, from a sample on.
template <class T>
struct Place {
    T *data;
    Index sample, entry;
    Place(const View &view, Index member, Index step, Index first)
        : data(view.data ? static_cast<T *>(view.data) + member * view.member + step * view.step + first * view.sample : nullptr),
          sample(view.sample), entry(view.entry) {}
};

// From memory to lanes and back: `width` rows of N lanes a block, blocks `apart` elements from each other; `count` samples.
template <class T, Index N>
void load(const Place<T> &from, Index count, Index width, T *to, Index apart) {
    for (Index first = 0; first < count; first += N, to += apart) {
        const Index lanes = std::min(N, count - first);
        for (Index k = 0; k < width; ++k) {
            const T *source = from.data + first * from.sample + k * from.entry;
            if (from.sample == 1 && lanes == N)
                std::memcpy(to + k * N, source, size_t(N) * sizeof(T));
            else
                for (Index n = 0; n < lanes; ++n) to[k * N + n] = source[n * from.sample];
        }
    }
}

template <class T, Index N>
void store(const T *from, Index apart, Index count, Index width, const Place<T> &to) {
    for (Index first = 0; first < count; first += N, from += apart) {
        const Index lanes = std::min(N, count - first);
        for (Index k = 0; k < width; ++k) {
            T *target = to.data + first * to.sample + k * to.entry;
            if (to.sample == 1 && lanes == N)
                std::memcpy(target, from + k * N, size_t(N) * sizeof(T));
            else
                for (Index n = 0; n < lanes; ++n) target[n * to.sample] = from[k * N + n];
        }
    }
}

}  // namespace
