"""A config of neuralhydrology: its keys and their values, and why some of them have no place in ours."""

from datetime import date, datetime
from pathlib import Path
from typing import Any

from mclstm.errors import ConfigError

__all__ = ["DATASETS", "LOSSES", "MODELS", "UNNEEDED", "WITHOUT", "NHConfig"]

DATASETS = {"camels_us": "camels_us", "caravan": "caravan", "generic": "generic_nh"}
MODELS = {"mclstm": "mclstm", "cudalstm": "lstm", "customlstm": "lstm"}
LOSSES = {"mse": "mse", "nse": "nse", "weightednse": "nse"}

# Keys that are not needed here, by the reason.
REASONS = {
    "a loss that is not finite stops the run and says where": ["allow_subsequent_nan_losses"],
    "give mclstm train --out instead": ["base_run_dir"],
    "all data are in memory": ["cache_validation_data", "num_workers"],
    "a note of the run that wrote the file": ["commit_hash", "package_version"],
    "unknown keys are always refused": ["dev_mode"],
    "training.device chooses; without it the CPU": ["device"],
    "runs have a journal": [
        "experiment_logger",
        "log_interval",
        "log_loss_every_nth_update",
        "log_tensorboard",
    ],
    "an MC-LSTM adds up the outflow of its cells, there as here": ["head", "output_activation"],
    "figures lie in the run's folder": ["img_log_dir"],
    "mclstm resume continues a run": ["is_continue_training"],
    "set by neuralhydrology itself": ["is_finetuning", "train_data_file", "train_dir"],
    "figures are drawn after the evaluation": ["log_n_figures"],
    "counted from the data": ["number_of_basins"],
    "an MC-LSTM drops nothing, there as here": ["output_dropout"],
    "every run has its own folder": ["run_dir"],
    "predictions hold stores and outflows": ["save_all_output"],
    "environment.json holds the versions": ["save_git_diff"],
    "scaling.json and data_manifest.json hold what is needed": ["save_train_data"],
    "mclstm evaluate RUN --split validation": ["save_validation_results"],
    "checkpoints are by updates: training.checkpoint_every": ["save_weights_every"],
    "give --quiet instead": ["verbose"],
}
UNNEEDED = {key: reason for reason, keys in REASONS.items() for key in keys}

# Keys that change a run and have no counterpart; so does any other key that is not known.
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


class NHConfig:
    """The keys of a file, with a note of those that were used."""

    def __init__(self, values: dict[str, Any], file: Path) -> None:
        self.values, self.file = values, file
        self.used: set[str] = set()

    def take(self, key: str, default: Any = None) -> Any:
        """The value of a key, or the default; the key counts as used."""
        self.used.add(key)
        value = self.values.get(key)
        return default if value is None or value == "None" else value

    def need(self, key: str) -> Any:
        """The value of a key that every run needs."""
        value = self.take(key)
        if value is None:
            raise ConfigError(f"{self.file} has no {key}, without which no run can be described. Add it.")
        return value

    def names(self, *keys: str) -> list[str]:
        """The list of names under the first of these keys that is there; a single name becomes a list."""
        values = [self.take(key) for key in keys]
        value: Any = next((item for item in values if item is not None), [])
        if isinstance(value, dict):
            raise ConfigError(f"{self.file}, {keys[0]}: several frequencies cannot be trained. Choose one.")
        flat = [value] if isinstance(value, str) else value
        if not isinstance(flat, list) or not all(isinstance(name, str) for name in flat):
            raise ConfigError(f"{self.file}, {keys[0]} is no list of names. Correct it.")
        return flat

    def path(self, key: str) -> Path:
        """An absolute path. A relative one starts from the working folder, as there, or from the config's."""
        value = str(self.need(key))
        choices = [Path(value).absolute(), (self.file.parent / value).absolute()]
        return next((path for path in choices if path.exists()), choices[0])

    def basins(self, *keys: str) -> list[str]:
        """The sites of the basin files, which must name the same ones; empty where there is no file."""
        lists = {key: self._basin_file(key) for key in keys if self.take(key) is not None}
        if len({tuple(sorted(sites)) for sites in lists.values()}) > 1:
            splits = " than for ".join(key.partition("_")[0] for key in lists)
            raise ConfigError(f"{self.file} names other basins for {splits}. Make one list for all periods.")
        return next(iter(lists.values()), [])

    def _basin_file(self, key: str) -> list[str]:
        try:
            lines = self.path(key).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is no text"
            file = f"the basin file {self.take(key)}"
            raise ConfigError(f"{self.file}: {file} cannot be read: {reason}. Correct its path.") from None
        return [line.strip() for line in lines if line.strip()]

    def iso_date(self, value: Any) -> str:
        """A date as neuralhydrology writes it, DD/MM/YYYY, in ISO form."""
        if isinstance(value, date):
            return value.isoformat()[:10]
        try:
            return datetime.strptime(str(value), "%d/%m/%Y").date().isoformat()
        except ValueError:
            raise ConfigError(f"{self.file}: {str(value)[:40]!r} is not DD/MM/YYYY. Correct it.") from None
