"""Data sets: built-in examples, synthetic data, and loaders for the data that the paper used."""

from habitprint.datasets.real import (
    complete_journey,
    complete_journey_categories,
    d4d_antennas,
    d4d_calls,
    d4d_nearest_sub_prefectures,
    d4d_sub_prefecture_calls,
    d4d_sub_prefectures,
    web_history,
)
from habitprint.datasets.synthetic import (
    AUDIT_OF_TOWN,
    CallsModel,
    CallsTwin,
    CountryModel,
    WebModel,
    WebTwin,
    calls_twin,
    illustration,
    town,
    web_twin,
)
from habitprint.datasets.tracks import BEIJING, geolife, geolife_shared_files, read_tracks

__all__ = [
    "AUDIT_OF_TOWN",
    "BEIJING",
    "CallsModel",
    "CallsTwin",
    "CountryModel",
    "WebModel",
    "WebTwin",
    "calls_twin",
    "complete_journey",
    "complete_journey_categories",
    "d4d_antennas",
    "d4d_calls",
    "d4d_nearest_sub_prefectures",
    "d4d_sub_prefecture_calls",
    "d4d_sub_prefectures",
    "geolife",
    "geolife_shared_files",
    "illustration",
    "read_tracks",
    "town",
    "web_history",
    "web_twin",
]
