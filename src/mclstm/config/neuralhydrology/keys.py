"""What neuralhydrology's config calls things, and why some of its keys have no place in ours."""

__all__ = ["DATASETS", "LOSSES", "METRICS", "MODELS", "UNNEEDED", "WITHOUT"]

DATASETS = {"camels_us": "camels_us", "caravan": "caravan", "generic": "generic_nh"}
MODELS = {"mclstm": "mclstm", "cudalstm": "lstm", "customlstm": "lstm"}
LOSSES = {"mse": "mse", "nse": "nse", "weightednse": "nse"}
METRICS = {
    "NSE": "nse", "KGE": "kge", "Alpha-NSE": "alpha-nse", "Beta-NSE": "beta-nse", "Beta-KGE": "beta-kge",
    "FHV": "fhv", "FLV": "flv", "FMS": "fms", "Peak-Timing": "peak-timing", "RMSE": "rmse",
}  # fmt: skip

# Keys whose effect exists here without them.
UNNEEDED = {
    "allow_subsequent_nan_losses": "a loss that is not finite stops the run and says where",
    "base_run_dir": "give mclstm train --out instead",
    "cache_validation_data": "all data are in memory",
    "commit_hash": "a note of the run that wrote the file",
    "dev_mode": "unknown keys are always refused",
    "device": "runs on the CPU",
    "experiment_logger": "every run keeps a journal",
    "head": "an MC-LSTM adds up the outflow of its cells, there as here",
    "img_log_dir": "figures lie in the run's folder",
    "is_continue_training": "mclstm resume goes on with a run",
    "is_finetuning": "set by neuralhydrology itself",
    "log_interval": "every run keeps a journal",
    "log_loss_every_nth_update": "every run keeps a journal",
    "log_n_figures": "figures are drawn after the evaluation",
    "log_tensorboard": "every run keeps a journal",
    "num_workers": "all data are in memory",
    "number_of_basins": "counted from the data",
    "output_activation": "an MC-LSTM adds up the outflow of its cells, there as here",
    "output_dropout": "an MC-LSTM drops nothing, there as here",
    "package_version": "a note of the run that wrote the file",
    "run_dir": "every run makes its folder",
    "save_all_output": "predictions hold stores and outflows",
    "save_git_diff": "environment.json holds the versions",
    "save_train_data": "scaling.json and data_manifest.json hold what is needed",
    "save_validation_results": "mclstm evaluate RUN --split validation",
    "save_weights_every": "checkpoints are by updates: training.checkpoint_every",
    "train_data_file": "set by neuralhydrology itself",
    "train_dir": "set by neuralhydrology itself",
    "verbose": "give --quiet instead",
}

# Keys that change a run and cannot be had; any key that is not known at all is treated likewise.
WITHOUT = {
    "additional_feature_files": "add the columns to the data",
    "custom_normalization": "mass and targets of an MC-LSTM are never scaled, all other inputs standardised",
    "dynamics_embedding": "for an MC-LSTM see model.aux_memory",
    "max_updates_per_epoch": "training.updates limits the whole run",
    "nan_handling_method": "missing inputs are refused, or filled by data.missing_aux and data.missing_mass",
    "regularization": "for an MC-LSTM see model.cell_penalty",
    "statics_embedding": "statics enter the gates as they are",
    "target_noise_std": "no noise is added",
    "use_basin_id_encoding": "sites are told apart by data.static",
    "validate_n_random_basins": "all sites are validated",
}
