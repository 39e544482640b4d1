// Work for several threads, which any of them can do.

#pragma once

#include <exception>
#include <memory>
#include <thread>
#include <vector>

namespace {

// One job a thread; where no more threads, or no memory for one, are to be had, this one does it. Room for all of them first: what
// fails while threads run would end the process.
template <class Job>
void in_threads(size_t count, Job job) {
    std::vector<std::thread> others;
    others.reserve(count);
    for (size_t i = 1; i < count; ++i) try {
            others.emplace_back(job, i);
        } catch (const std::exception &) {
            job(i);
        }
    job(size_t(0));
    for (auto &other : others) other.join();
}

}  // namespace
