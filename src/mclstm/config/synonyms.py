"""What other tools and people call the keys of a config, for the suggestions in error messages."""

__all__ = ["SYNONYMS"]

# another word: our key
SYNONYMS = {
    # training
    "lr": "learning_rate", "eta": "learning_rate", "rate": "learning_rate", "step_size": "learning_rate",
    "n_epochs": "epochs", "num_epochs": "epochs", "max_epochs": "epochs",
    "iterations": "updates", "n_iter": "updates", "max_updates": "updates", "max_steps": "updates",
    "bs": "batch_size", "batch": "batch_size", "seq_length": "length", "sequence_length": "length",
    "window": "length", "seq_len": "length", "spinup": "warmup", "spin_up": "warmup", "burn_in": "warmup",
    "patience": "early_stopping", "clip_gradient_norm": "clip", "grad_clip": "clip", "gradient_clip": "clip",
    "max_grad_norm": "clip", "l2": "weight_decay", "ema": "average", "criterion": "loss", "loss_fn": "loss",
    "num_threads": "threads", "n_jobs": "threads", "cores": "threads", "random_seed": "seed",
    "random_state": "seed", "ensemble": "members", "n_members": "members", "save_every": "checkpoint_every",
    "save_weights_every": "checkpoint_every", "optim": "optimiser", "optimizer": "optimiser",
    "learning_rate_schedule": "schedule", "lr_schedule": "schedule",
    # model
    "cells": "hidden_size", "n_cells": "hidden_size", "hidden": "hidden_size",
    "hidden_dim": "hidden_size", "type": "name", "kind": "name", "drop": "dropout",
    "output_dropout": "dropout", "initial_forget_bias": "forget_bias", "c0": "initial_state",
    # data
    "file": "path", "filename": "path", "data_dir": "path", "folder": "path", "input": "mass",
    "mass_inputs": "mass", "inflow": "mass", "rain": "mass", "precipitation": "mass", "forcings": "aux",
    "forcing": "aux", "dynamic_inputs": "aux", "features": "aux", "covariates": "aux", "inputs": "aux",
    "auxiliary": "aux", "static_attributes": "static", "statics": "static", "y": "target",
    "outflow": "target", "outputs": "target", "labels": "target", "target_variables": "target",
    "date": "time", "timestamp": "time", "gauge": "site", "station": "site", "basins": "sites",
    "gauges": "sites", "area_km2": "area", "na_values": "missing_values", "nodata": "missing_values",
    "fill_value": "missing_values", "delimiter": "separator", "doy": "day_of_year", "season": "day_of_year",
    "vapor_pressure": "vapour_pressure",
    # periods and evaluation
    "training_period": "train", "val": "validation", "valid": "validation", "dev": "validation",
    "calibration": "train", "scores": "metrics", "baselines": "against", "benchmarks": "against",
}  # fmt: skip
