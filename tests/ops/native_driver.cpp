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

// A tensor (E, T, B, width) in memory: time-first, or samples beside each other, or one for all members or all samples.
enum Layout { PLAIN, TRANSPOSED, SHARED, UNIFORM };

template <class T>
struct Array {
    std::vector<T> values;  // exactly as long as the kernel may read or write
    View view;
    Array(int64_t E, int64_t steps, int64_t B, int64_t width, Layout layout, double low, double high) {
        const int64_t rows = layout == UNIFORM ? 1 : B, each = steps * rows * width;
        values.resize(size_t(layout == SHARED ? each : E * each));
        for (T &value : values) value = T(low + (high - low) * uniform());
        view = {values.data(), layout == SHARED ? 0 : each, rows * width, layout == TRANSPOSED ? 1 : width, layout == TRANSPOSED ? B : 1};
        if (layout == UNIFORM) view.sample = 0;
    }
    double at(int64_t e, int64_t t, int64_t b, int64_t k) const {
        return double(values[size_t(e * view.member + t * view.step + b * view.sample + k * view.entry)]);
    }
};

template <class T>
static std::vector<T> random_values(size_t count, double low, double high) {
    return Array<T>(1, 1, 1, int64_t(count), PLAIN, low, high).values;
}

template <class T>
static double run_case(int64_t E, int64_t steps, int64_t B, int64_t M, int64_t A, int64_t S, int64_t K, int64_t form, int option, int64_t threads) {
    Call call = {};
    call.E = E, call.T = steps, call.B = B, call.M = M, call.A = A, call.S = S, call.K = K, call.form = form, call.threads = threads;
    call.wide = sizeof(T) == 8, call.input_norm = option % 3, call.cell_norm = (option / 3) % 3;
    call.sees_state = option % 2, call.sees_mass = (option / 2) % 2, call.is_signed = option % 5 == 0;
    call.F = A + S + (call.sees_state ? K : 0) + (call.sees_mass ? M : 0);
    const Layout some[] = {PLAIN, TRANSPOSED, SHARED};
    const Layout in = some[option % 3], out = some[option % 2];
    Array<T> x(E, steps, B, M, in, 0, 1), a(E, steps, B, A, option % 4 ? in : UNIFORM, -1, 1), s(E, 1, B, S, in, -1, 1), c0(E, 1, B, K, in, 0, 1);
    Array<T> h(E, steps, B, K, out, 0, 0), c(E, steps + 1, B, K, out, 0, 0), dh(E, steps, B, K, in, -1, 1), dc(E, steps + 1, B, K, out, -1, 1);
    Array<T> dx(E, steps, B, M, out, 0, 0), da(E, steps, B, A, out, 0, 0), ds(E, 1, B, S, out, 0, 0), dc0(E, 1, B, K, out, 0, 0);
    auto W_i = random_values<T>(size_t(E * M * K * call.F), -1, 1), b_i = random_values<T>(size_t(E * M * K), -60, 1);
    auto W_o = random_values<T>(size_t(E * K * call.F), -1, 1), b_o = random_values<T>(size_t(E * K), -60, 1);
    auto W_r = random_values<T>(size_t(form == DYNAMIC ? E * K * K * call.F : 0), -1, 1);
    auto B_r = random_values<T>(size_t(form == IDENTITY ? 0 : E * K * K), -60, 1);
    auto dW_i = W_i, db_i = b_i, dW_o = W_o, db_o = b_o, dW_r = W_r, dB_r = B_r;
    std::vector<uint8_t> mask(size_t(K * K), 1), valid(size_t(steps * B));
    for (size_t k = 0; k + 1 < mask.size(); k += 2) mask[k] = K == 1;
    for (uint8_t &moves : valid) moves = uniform() < 0.8;
    call.x = x.view, call.a = a.view, call.s = s.view, call.c0 = c0.view, call.h = h.view, call.c = c.view;
    call.W_i = W_i.data(), call.b_i = b_i.data(), call.W_o = W_o.data(), call.b_o = b_o.data(), call.W_r = W_r.data(), call.B_r = B_r.data();
    call.mask = K > 1 && option % 3 == 1 ? mask.data() : nullptr;
    call.valid = option % 2 ? valid.data() : nullptr;
    if (mclstm_forward(&call) != 0) return 1.0;
    call.h = {};
    if (option % 7) call.dh = dh.view;
    if (option % 3) call.dc = dc.view;
    if (option % 4) call.dx = dx.view, call.da = da.view, call.ds = ds.view, call.dc0 = dc0.view;
    call.dW_i = dW_i.data(), call.db_i = db_i.data(), call.dW_o = dW_o.data(), call.db_o = db_o.data(), call.dW_r = dW_r.data(), call.dB_r = dB_r.data();
    if (mclstm_backward(&call) != 0) return 1.0;
    double worst = 0;
    for (int64_t e = 0; e < E; ++e)
        for (int64_t b = 0; b < B; ++b) {
            double came = 0, left = 0;
            for (int64_t k = 0; k < K; ++k) came += c0.at(e, 0, b, k), left += c.at(e, steps, b, k);
            for (int64_t t = 0; t < steps; ++t) {
                for (int64_t k = 0; k < K; ++k) left += h.at(e, t, b, k);
                for (int64_t f = 0; f < M; ++f) came += call.valid && !valid[size_t(t * B + b)] ? 0.0 : x.at(e, t, b, f);
            }
            worst = std::max(worst, std::abs(came - left) / std::max(came, 1e-30));
        }
    return worst;
}

int main() {
    double single = 0, wide = 0;
    int option = 0;
    for (int64_t K : {1, 3, 8, 13, 17})
        for (int64_t B : {1, 2, 7, 9, 33, 70})
            for (int64_t M : {0, 1, 3})
                for (int64_t form : {IDENTITY, STATIC, DYNAMIC}) {
                    const int64_t steps = option % 4 == 3 ? 11 : option % 4, A = option % 3, S = option / 3 % 3, threads = 1 + option % 5;
                    const int64_t E = 1 + option / 2 % 3;
                    single = std::max(single, run_case<float>(E, steps, B, M, A, S, K, form, option, threads));
                    wide = std::max(wide, run_case<double>(E, steps, B, M, A, S, K, form, option, threads));
                    option += 1;
                }
    std::printf("worst ledger error: float %g, double %g\n", single, wide);
    return single < 1e-5 && wide < 1e-13 ? 0 : 1;
}
