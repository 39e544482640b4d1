// A first layer that is a linear map of all inputs, z = A x + c. For NALU a third of the rows of A multiplies log x instead of x.

#pragma once

#include <numeric>

#include "learn_maps.h"
#include "product.h"

namespace {

class LinearLayer {
    typedef Lanes<float>::Vec Vec;
    static constexpr Index V = Lanes<float>::V;

   public:
    LinearLayer(const Learn &learn, Own &own)
        : N(learn.inputs * learn.steps), B(learn.batch), K(rows_of(learn)), plain(learn.layer == NALU_LAYER ? K / 3 * 2 : K), maps(learn, own),
          logs(plain < K ? N * B : 0), none(K * B), weights(size_t(K * N)) {}

    // x (N, B) -> z (K, B).
    void forward(Buffer<float> &x, Buffer<float> &z) {
        for (Index k = 0; k < N * B && plain < K; k += V) *logs.at(k) = log_of<float>(size_of<float>(*x.at(k)) + 1e-7f);
        maps.forward();
        for (Index k = 0; k < K * N; ++k) weights[k] = float(maps.A[k]);
        const Index wide = B / V;
        for (Index k = 0; k < K; ++k) std::fill_n(none + k * B, B, float(maps.c[k]));
        for (Index w = 0; w + 4 <= wide; w += 4) {
            product<float, 4, 0>(plain, 1, N, {weights.data(), N, 0, 1}, x.at(0) + w, wide, none.at(0) + w, z.at(0) + w, wide);
            if (plain < K)
                product<float, 4, 0>(K - plain, 1, N, {weights.data() + plain * N, N, 0, 1}, logs.at(0) + w, wide, none.at(plain * B) + w, z.at(plain * B) + w, wide);
        }
    }

    // The gradients of the layer's parameters from dz (K, B).
    void backward(Buffer<float> &x, Buffer<float> &dz) {
        const Index wide = B / V;
        for (Index k = 0; k < K; ++k) {
            maps.dc[k] = std::accumulate(dz + k * B, dz + (k + 1) * B, 0.0);
            Buffer<float> &met = k < plain ? x : logs;
            for (Index row = 0; row < N; row += 2) {
                const Vec *d = dz.at(k * B), *one = met.at(row * B), *two = met.at(std::min(row + 1, N - 1) * B);
                Vec first[2] = {}, second[2] = {};
                for (Index w = 0; w + 2 <= wide; w += 2)
                    for (int half = 0; half < 2; ++half) {
                        first[half] += d[w + half] * one[w + half];
                        second[half] += d[w + half] * two[w + half];
                    }
                maps.dA[k * N + row] = total_of<float>(first[0] + first[1]);
                if (row + 1 < N) maps.dA[k * N + row + 1] = total_of<float>(second[0] + second[1]);
            }
        }
        maps.backward();
    }

   private:
    const Index N, B, K, plain;  // rows of x, samples, rows of z, rows of z that come from x and not from log x
    Maps maps;
    Buffer<float> logs, none;
    std::vector<float> weights;
};

}  // namespace
