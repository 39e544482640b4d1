// A fully connected layer for one sample: lanes lie along its units, and both passes read their weights sequentially.

#pragma once

#include "product.h"

namespace {

// The whole vectors that hold `count` numbers, counted in numbers.
template <class T>
constexpr Index padded(Index count) {
    return (count + Lanes<T>::V - 1) / Lanes<T>::V * Lanes<T>::V;
}

// to[w] = from[w] + sum_p x[p] panel[p, w], for W vectors side by side. Narrow panels have several sums per vector: a single one waits
// for itself.
template <class T, int W>
inline void panel_sums(Index count, const T *x, const typename Lanes<T>::Vec *panel, const typename Lanes<T>::Vec *from, typename Lanes<T>::Vec *to) {
    typedef typename Lanes<T>::Vec Vec;
    constexpr int PARTS = 8 / W;
    const Index whole = count / PARTS * PARTS;
    Vec sum[PARTS][W] = {};
    for (Index p = 0; p < whole; p += PARTS, panel += PARTS * W)
#pragma GCC unroll 8
        for (int q = 0; q < PARTS; ++q)
#pragma GCC unroll 8
            for (int w = 0; w < W; ++w) sum[q][w] += x[p + q] * panel[q * W + w];
    for (Index p = whole; p < count; ++p, panel += W)
#pragma GCC unroll 8
        for (int w = 0; w < W; ++w) sum[0][w] += x[p] * panel[w];
#pragma GCC unroll 8
    for (int w = 0; w < W; ++w) {
        Vec total = sum[0][w];
        for (int q = 1; q < PARTS; ++q) total += sum[q][w];
        to[w] = from ? from[w] + total : total;
    }
}

// A matrix (rows, columns) for products x M of one row x, in panels of eight vectors, the last one narrower.
template <class T>
class Panels {
    typedef typename Lanes<T>::Vec Vec;
    static constexpr Index V = Lanes<T>::V, MOST = 8;

   public:
    Panels(Index rows, Index columns) : rows_(rows), columns_(columns), wide_(padded<T>(columns) / V), data_(rows * wide_ * V) {}

    // Element (r, c) lies at r * row + c * column of `from`.
    void pack(const T *from, Index row, Index column) {
        T *to = data_;
        for (Index first = 0; first < wide_; first += MOST)
            for (Index r = 0; r < rows_; ++r)
                for (Index c = first * V; c < std::min(first + MOST, wide_) * V; ++c) *to++ = c < columns_ ? from[r * row + c * column] : T(0);
    }

    // to = from + x M; `from` may be null.
    void product(const T *x, const Vec *from, Vec *to) {
        for (Index first = 0; first < wide_; first += MOST)
            some<int(MOST)>(std::min(MOST, wide_ - first), x, data_.at(first * rows_ * V), from ? from + first : nullptr, to + first);
    }

   private:
    Index rows_, columns_, wide_;
    Buffer<T> data_;

    template <int W>
    void some(Index count, const T *x, const Vec *panel, const Vec *from, Vec *to) {
        if (count == W) return panel_sums<T, W>(rows_, x, panel, from, to);
        if constexpr (W > 1) some<W - 1>(count, x, panel, from, to);
    }
};

// y = W x + b, W (O, I): the weights of one member, and the sums of their gradients over the steps. Arrays of x and y are padded.
template <class T>
class Dense {
    typedef typename Lanes<T>::Vec Vec;
    static constexpr Index V = Lanes<T>::V;

   public:
    Dense(Index inputs, Index outputs)
        : I(inputs), O(outputs), ahead_(I, O), back_(O, I), b_(padded<T>(O)), dW_(O * padded<T>(I)), db_(padded<T>(O)) {}

    const Index I, O;

    void load(const T *W, const T *b) {
        ahead_.pack(W, 1, I);
        back_.pack(W, I, 1);
        std::copy_n(b, O, static_cast<T *>(b_));
        dW_.clear(), db_.clear();
    }

    void forward(const T *x, Vec *y) { ahead_.product(x, b_.at(0), y); }
    void backward(const T *dy, Vec *dx) { back_.product(dy, nullptr, dx); }

    // Adds the gradients of `steps` steps; rows of dy lie `apart` elements from each other, those of x a padded row.
    void learn(Index steps, const T *dy, Index apart, const Vec *x) {
        outer_product<T, 1>(O, 1, steps, {dy, 1, 0, apart}, x, padded<T>(I) / V, dW_.at(0));
        for (Index t = 0; t < steps; ++t)
            for (Index o = 0; o < O; ++o) db_[o] += dy[t * apart + o];
    }

    void write(T *dW, T *db) {
        for (Index o = 0; o < O; ++o) std::copy_n(dW_ + o * padded<T>(I), I, dW + o * I);
        std::copy_n(static_cast<T *>(db_), O, db);
    }

   private:
    Panels<T> ahead_, back_;
    Buffer<T> b_, dW_, db_;
};

}  // namespace
