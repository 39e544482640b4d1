"""The sum of a sequence of MNIST digits, learned from images: front end, memories, training, success."""
