// The autoregressive LSTM of the pendulum, one member at a time: ŷ_t is a linear map of its cells and a part of its next input.
//
//     z = W [ŷ_{t-1}, a_t, h_{t-1}] + b,    gates i, f, g, o in torch's order,    ŷ_t = P c_t + p
//
// Each step reads all weights twice, once forward and once backward: their layout lets memory be read sequentially. Gradients of the
// weights are products over many steps.

#pragma once

#include "descent.h"

namespace {

class PredictingLSTM {
    typedef Lanes<float>::Vec Vec;
    static constexpr Index V = Lanes<float>::V, CHUNK = 64;

   public:
    explicit PredictingLSTM(const Descent &call)
        : p(call), H(call.hidden), inputs_(call.K + call.A), C(inputs_ + H), row_(padded<float>(C)), apart_(4 * H + 16), gates_(C, 4 * H), W_(4 * H * C), b_(4 * H), x_(call.T * row_),
          z_(call.T * apart_), c_((call.T + 1) * H), squashed_(call.T * H), y_(call.T * call.K), dh_(H), dc_(H), down_(row_), dy_(call.K), dP_(call.K * H), dp_(call.K) {}

    void load(float *const *values) {
        for (Index r = 0; r < 4 * H; ++r) {
            std::copy_n(values[0] + r * inputs_, inputs_, W_ + r * C);
            std::copy_n(values[1] + r * H, H, W_ + r * C + inputs_);
            b_[r] = values[2][r] + values[3][r];
        }
        gates_.load(W_, b_);
        P_ = values[4], p_ = values[5];
    }

    const float *predict(Index member, Index steps) {
        const Place<float> start(p.start, member, 0, 0);
        for (Index k = 0; k < p.K; ++k) x_[k] = start.data[k * start.entry];
        std::fill_n(x_ + inputs_, H, 0.0f);
        for (Index t = 0; t < steps; ++t) {
            float *x = x_ + t * row_;
            const Place<float> a(p.a, member, t, 0);
            for (Index f = 0; f < p.A; ++f) x[p.K + f] = a.data[f * a.entry];
            gates_.forward(x, z_.at(t * apart_));
            squash(t, t + 1 < steps ? x + row_ + inputs_ : nullptr);
            dots<float>(p.K, H, P_, c_ + (t + 1) * H, p_, y_ + t * p.K, 1);
            if (t + 1 < steps) std::copy_n(y_ + t * p.K, p.K, x + row_);
        }
        return y_;
    }

    // After `predict` of the same steps.
    void learn(Index, Index steps, const float *dy, float *const *gradients) {
        for (Buffer<float> *sums : {&dh_, &dc_, &down_, &dP_, &dp_}) sums->clear();
        for (Index t = steps - 1; t >= 0; --t) {
            const float *cell = c_ + (t + 1) * H;
            for (Index k = 0; k < p.K; ++k) {
                dy_[k] = dy[t * p.K + k] + down_[k];
                dp_[k] += dy_[k];
                for (Index n = 0; n < H; ++n) dP_[k * H + n] += dy_[k] * cell[n];
            }
            dots_back<float>(p.K, H, P_, dy_, 1, dc_);
            std::copy_n(down_ + inputs_, H, static_cast<float *>(dh_));
            squash_back(t);
            gates_.backward(z_ + t * apart_, down_.at(0));
            if (t % CHUNK == 0) gates_.learn(std::min(CHUNK, steps - t), z_ + t * apart_, apart_, x_.at(t * row_));
        }
        gates_.write(W_, b_);
        for (Index r = 0; r < 4 * H; ++r) {
            std::copy_n(W_ + r * C, inputs_, gradients[0] + r * inputs_);
            std::copy_n(W_ + r * C + inputs_, H, gradients[1] + r * H);
            gradients[2][r] = gradients[3][r] = b_[r];
        }
        std::copy_n(static_cast<float *>(dP_), p.K * H, gradients[4]);
        std::copy_n(static_cast<float *>(dp_), p.K, gradients[5]);
    }

   private:
    const Descent &p;
    const Index H, inputs_, C, row_, apart_;  // C columns of the weights; a padded row of x; from one row of z to the next, no power of two
    Dense<float> gates_;
    Buffer<float> W_, b_, x_, z_, c_, squashed_, y_, dh_, dc_, down_, dy_, dP_, dp_;
    const float *P_ = nullptr, *p_ = nullptr;

    // Logits become gates, in their place; the cells after step t, and the output for the next input.
    void squash(Index t, float *h) {
        Vec *z = z_.at(t * apart_), *after = c_.at((t + 1) * H), *squashed = squashed_.at(t * H);
        const Vec *before = c_.at(t * H);
        const Index n = H / V;
        for (Index k = 0; k < n; ++k) {
            Vec &i = z[k], &f = z[n + k], &g = z[2 * n + k], &o = z[3 * n + k];
            i = logistic_of<float>(i), f = logistic_of<float>(f), g = tanh_of<float>(g), o = logistic_of<float>(o);
            after[k] = f * before[k] + i * g;
            squashed[k] = tanh_of<float>(after[k]);
            const Vec out = o * squashed[k];
            if (h) std::memcpy(h + k * V, &out, sizeof(out));
        }
    }

    // From dh and dc to the gradients of the logits, in the place of the gates, and the dc of the step before.
    void squash_back(Index t) {
        Vec *z = z_.at(t * apart_), *dc = dc_.at(0);
        const Vec *before = c_.at(t * H), *squashed = squashed_.at(t * H), *dh = dh_.at(0);
        const Index n = H / V;
        for (Index k = 0; k < n; ++k) {
            const Vec i = z[k], f = z[n + k], g = z[2 * n + k], o = z[3 * n + k], s = squashed[k], d = dc[k] + dh[k] * o * (1.0f - s * s);
            z[k] = d * g * i * (1.0f - i);
            z[n + k] = d * before[k] * f * (1.0f - f);
            z[2 * n + k] = d * i * (1.0f - g * g);
            z[3 * n + k] = dh[k] * s * o * (1.0f - o);
            dc[k] = d * f;
        }
    }
};

}  // namespace
