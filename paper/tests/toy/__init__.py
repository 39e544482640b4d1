"""A toy experiment in one folder, to test what the framework does with any experiment."""
