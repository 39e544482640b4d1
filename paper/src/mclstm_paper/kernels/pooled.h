// Gradients of y = relu(max over 2x2 of (conv(x, W) + b)). Of every four outputs of the convolution only the largest has a gradient, and
// only if it was positive. The others are left out, which takes an eighth of the time.

#pragma once

#include <vector>

#include "lanes.h"

extern "C" {
struct Pooled {
    int64_t N, H, W, C, k;        // images (N, H, W, C), channels last; kernels are k by k
    int64_t O, h, w, wide;        // channels and size of y; 0: float32, 1: float64
    const void *x, *kernels;      // (N, H, W, C), (O, k, k, C)
    const void *y, *dy;           // (N, h, w, O)
    const int64_t *largest;       // (N, h, w, O): index in the output of the convolution, row by row
    void *dx, *dkernels, *dbias;  // gradients; dx null: not needed
};
}

namespace {

// A kernel multiplies a patch of the image row by row. Both consist of whole vectors here: with several channels each pixel is one, with
// one channel each row of the kernel. Surplus numbers of a patch go to sums that are not used; surplus numbers of a kernel are zero
// (times a gradient that is not finite they are NaN, next to numbers that are not finite either).
template <class T>
class PooledBack {
    typedef typename Lanes<T>::Vec Vec;
    static constexpr Index V = Lanes<T>::V;

   public:
    explicit PooledBack(const Pooled &call)
        : p(call), channels(p.C > 1 ? whole(p.C) : 1), row(whole(p.k * channels)), pixels(p.H * p.W), outputs(p.h * p.w), step(p.W * channels),
          kernels(p.O * p.k * row), sums(p.O * p.k * row), x(pixels * channels + V), dx(pixels * channels + V), bias(p.O), places(size_t(p.O * outputs)),
          found(size_t(p.O)), slopes(size_t(p.O * outputs)) {
        for (Index r = 0; r < p.O * p.k; ++r) spread(static_cast<const T *>(p.kernels) + r * p.k * p.C, p.k, kernels + r * row);
    }

    void run() {
        for (Index n = 0; n < p.N; ++n) {
            spread(static_cast<const T *>(p.x) + n * pixels * p.C, pixels, x);
            find(n);
            for (Index o = 0; o < p.O; ++o) learn(o);
            if (!p.dx) continue;
            dx.clear();
            for (Index o = 0; o < p.O; ++o) back(o);
            gather(dx, pixels, static_cast<T *>(p.dx) + n * pixels * p.C);
        }
        for (Index r = 0; r < p.O * p.k; ++r) gather(sums + r * row, p.k, static_cast<T *>(p.dkernels) + r * p.k * p.C);
        std::copy_n(static_cast<const T *>(bias), p.O, static_cast<T *>(p.dbias));
    }

   private:
    const Pooled &p;
    const Index channels, row, pixels, outputs, step;  // numbers per pixel and per kernel row, sizes of x and y, step to the next row of x
    Buffer<T> kernels, sums, x, dx, bias;
    std::vector<Index> places, found;  // (O, outputs) patches whose output has a gradient, (O) their number
    std::vector<T> slopes;             // (O, outputs) those gradients

    static Index whole(Index numbers) { return (numbers + V - 1) / V * V; }

    void spread(const T *from, Index many, T *to) {
        for (Index i = 0; i < many; ++i) std::copy_n(from + i * p.C, p.C, to + i * channels);
    }

    void gather(const T *from, Index many, T *to) {
        for (Index i = 0; i < many; ++i) std::copy_n(from + i * channels, p.C, to + i * p.C);
    }

    // The patches of an image that have a gradient, by channel; NaN has one, as in torch. No branch, since it could not be predicted.
    void find(Index n) {
        const Index across = p.W - p.k + 1, first = n * outputs * p.O;
        const T *y = static_cast<const T *>(p.y) + first, *dy = static_cast<const T *>(p.dy) + first;
        const int64_t *largest = p.largest + first;
        std::fill(found.begin(), found.end(), 0);
        for (Index i = 0; i < p.h; ++i)
            for (Index j = 0; j < p.w; ++j)
                for (Index o = 0; o < p.O; ++o, ++y, ++dy, ++largest) {
                    const Index beyond = *largest - 2 * i * across, below = beyond >= across;
                    const bool counts = !(*y <= T(0));
                    const size_t next = size_t(o * outputs + found[size_t(o)]);
                    places[next] = ((2 * i + below) * p.W + beyond - below * across) * channels;
                    slopes[next] = *dy;
                    bias[o] += counts ? *dy : T(0);
                    found[size_t(o)] += counts;
                }
    }

    // The gradients of a channel's kernel: several rows at once if they are short, parts of a row if they are long.
    void learn(Index o) {
        T *to = sums + o * p.k * row;
        if (row == V && p.k == 5) return add<5, 1>(o, 0, to);
        for (Index r = 0; r < p.k; ++r) {
            Index at = 0;
            for (; at + 8 * V <= row; at += 8 * V) add<1, 8>(o, r * step + at, to + r * row + at);
            for (; at + 5 * V <= row; at += 5 * V) add<1, 5>(o, r * step + at, to + r * row + at);
            for (; at < row; at += V) add<1, 1>(o, r * step + at, to + r * row + at);
        }
    }

    template <int ROWS, int MANY>
    void add(Index o, Index offset, T *to) {
        const Index *place = places.data() + o * outputs;
        const T *slope = slopes.data() + o * outputs, *from = x + offset;
        Vec sum[ROWS * MANY] = {};
        for (Index i = 0; i < found[size_t(o)]; ++i)
#pragma GCC unroll 8
            for (int v = 0; v < ROWS * MANY; ++v) sum[v] += slope[i] * unaligned<T>(from + place[i] + v / MANY * step + v % MANY * V);
        for (int v = 0; v < ROWS * MANY; ++v) *reinterpret_cast<Vec *>(to + v * V) += sum[v];
    }

    void back(Index o) {
        const Index vectors = row / V;
        for (Index i = 0; i < found[size_t(o)]; ++i)
            for (Index r = 0; r < p.k; ++r) {
                const Vec *kernel = kernels.at((o * p.k + r) * row);
                const T slope = slopes[size_t(o * outputs + i)];
                T *to = dx + places[size_t(o * outputs + i)] + r * step;
#pragma GCC unroll 5
                for (Index v = 0; v < vectors; ++v) {
                    const Vec more = unaligned<T>(to + v * V) + slope * kernel[v];
                    std::memcpy(to + v * V, &more, sizeof(more));
                }
            }
    }
};

template <class T>
int pooled_back(const Pooled &call) {
    try {
        FlushDenormals flush;
        PooledBack<T>(call).run();
        return 0;
    } catch (const std::bad_alloc &) {
        return 1;
    }
}

}  // namespace
