// Runs the kernel on odd sizes and every option, for the sanitizers; prints the worst ledger error and exits with 1 if it is large.

#include <cmath>
#include <cstdio>
#include <vector>

#include "kernel.cpp"

static unsigned state = 1;

static double uniform() {
    state = state * 1664525u + 1013904223u;
    return double(state >> 8) / double(1u << 24);
}

template <class T>
static std::vector<T> random_values(size_t count, double low, double high) {
    std::vector<T> values(count);  // exactly as long as the kernel may read
    for (T &value : values) value = T(low + (high - low) * uniform());
    return values;
}

template <class T>
static double run_case(int64_t steps, int64_t B, int64_t M, int64_t A, int64_t K, bool dynamic, int option, int64_t threads) {
    Call call = {};
    call.T = steps, call.B = B, call.M = M, call.A = A, call.K = K, call.threads = threads;
    call.wide = sizeof(T) == 8, call.input_norm = option % 3, call.cell_norm = (option / 3) % 3;
    call.sees_state = option % 2, call.sees_mass = (option / 2) % 2, call.is_signed = option % 5 == 0;
    call.own_base = B != 1 && option % 4 < 2;
    call.G = M + (dynamic ? K : 0) + 1, call.F = A + (call.sees_state ? K : 0) + (call.sees_mass ? M : 0);
    const size_t SBK = size_t(steps * B * K), GKF = size_t(call.G * K * call.F), bases = size_t((call.own_base ? B : 1) * call.G * K);
    auto x = random_values<T>(size_t(steps * B * M), 0, 1), a = random_values<T>(size_t(steps * B * A), -1, 1);
    auto c0 = random_values<T>(size_t(B * K), 0, 1), W = random_values<T>(GKF, -1, 1), base = random_values<T>(bases, -60, 1);
    std::vector<T> fixed(size_t(K * K), T(1) / T(K)), fallback(size_t((M + K) * K), T(1) / T(K));
    std::vector<uint8_t> mask(size_t(K * K), 1), valid(size_t(steps * B));
    for (size_t k = 0; k + 1 < mask.size(); k += 2) mask[k] = K == 1;
    for (uint8_t &moves : valid) moves = uniform() < 0.8;
    std::vector<T> h(SBK), c(SBK + size_t(B * K));
    auto dh = random_values<T>(SBK, -1, 1), dc = random_values<T>(SBK + size_t(B * K), -1, 1);
    std::vector<T> dx(x.size()), da(a.size()), dc0(c0.size()), dW(W.size()), dbase(base.size()), dfixed(fixed.size());
    call.x = x.data(), call.a = a.data(), call.c0 = c0.data(), call.W = W.data(), call.base = base.data();
    call.fixed = !dynamic && option % 2 ? fixed.data() : nullptr, call.fallback = fallback.data();
    call.mask = dynamic && K > 1 && option % 3 == 1 ? mask.data() : nullptr;
    call.valid = option % 2 ? valid.data() : nullptr;
    call.h = h.data(), call.c = c.data(), call.dh = option % 7 ? dh.data() : nullptr, call.dc = option % 3 ? dc.data() : nullptr;
    call.dx = dx.data(), call.da = da.data(), call.dc0 = dc0.data(), call.dW = dW.data(), call.dbase = dbase.data();
    call.dfixed = dfixed.data();
    if (mclstm_forward(&call) != 0 || mclstm_backward(&call) != 0) return 1.0;
    double worst = 0;
    for (int64_t b = 0; b < B; ++b) {
        double in = 0, left = 0;
        for (int64_t k = 0; k < K; ++k) in += double(c0[size_t(b * K + k)]), left += double(c[size_t((steps * B + b) * K + k)]);
        for (int64_t t = 0; t < steps; ++t) {
            for (int64_t k = 0; k < K; ++k) left += double(h[size_t((t * B + b) * K + k)]);
            for (int64_t f = 0; f < M; ++f)
                in += call.valid && !valid[size_t(t * B + b)] ? 0.0 : double(x[size_t((t * B + b) * M + f)]);
        }
        worst = std::max(worst, std::abs(in - left) / std::max(in, 1e-30));
    }
    return worst;
}

int main() {
    double single = 0, wide = 0;
    int option = 0;
    for (int64_t K : {1, 3, 8, 13, 17})
        for (int64_t B : {1, 2, 7, 9, 33, 70})
            for (int64_t M : {0, 1, 3})
                for (bool dynamic : {true, false}) {
                    const int64_t steps = option % 4, A = option % 3, threads = 1 + option % 3;
                    single = std::max(single, run_case<float>(steps, B, M, A, K, dynamic, option, threads));
                    wide = std::max(wide, run_case<double>(steps, B, M, A, K, dynamic, option, threads));
                    option += 1;
                }
    std::printf("worst ledger error: float %g, double %g\n", single, wide);
    return single < 1e-5 && wide < 1e-13 ? 0 : 1;
}
