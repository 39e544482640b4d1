// Runs independent jobs on several threads.

#pragma once

#include <exception>
#include <memory>
#include <thread>
#include <vector>

namespace {

// One job per thread; if no thread can be started, the calling thread does the job. Memory for all threads is reserved first: an
// exception while threads run would end the process.
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
