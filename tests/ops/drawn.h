// Random sizes, options and tensors for the drivers that run kernels under sanitizers. The kernel is included before this.

#pragma once

#include <cstdio>
#include <vector>

static uint64_t state = 1;

static double uniform() {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return double(state >> 40) / double(1u << 24);
}

static bool chance(double probability) { return uniform() < probability; }

static int64_t one_of(const std::vector<int64_t> &values) { return values[size_t(uniform() * double(values.size()))]; }

// A tensor (E, T, B, width) in memory: time-first, or samples beside each other, or one for all members or all samples.
enum Layout { PLAIN, TRANSPOSED, SHARED, ALIKE };

static Layout any_layout() { return Layout(one_of({PLAIN, TRANSPOSED, SHARED, ALIKE})); }

static Layout own_layout() { return Layout(one_of({PLAIN, TRANSPOSED})); }  // of what is written

template <class T>
struct Array {
    std::vector<T> values;  // exactly as long as the kernel may read or write
    View view;
    Array(int64_t E, int64_t steps, int64_t B, int64_t width, Layout layout, double low, double high) {
        const int64_t rows = layout == ALIKE ? std::min<int64_t>(B, 1) : B, each = steps * rows * width;
        values.resize(size_t(layout == SHARED ? each : E * each));
        for (T &value : values) value = T(low + (high - low) * uniform());
        view = {values.data(), layout == SHARED ? 0 : each, rows * width, layout == TRANSPOSED ? 1 : width, layout == TRANSPOSED ? B : 1};
        if (layout == ALIKE) view.sample = 0;
    }
    double at(int64_t e, int64_t t, int64_t b, int64_t k) const {
        return double(values[size_t(e * view.member + t * view.step + b * view.sample + k * view.entry)]);
    }
};
