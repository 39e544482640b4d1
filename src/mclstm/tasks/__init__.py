"""The neural arithmetic tasks as seeded generators: tensors on the fly, the same call the same samples."""
