"""Data to try things on: built in, made up, or read from the sources that the paper used."""

from habitprint.datasets.calls_twin import CallsModel, CallsTwin, calls_twin
from habitprint.datasets.complete_journey import complete_journey, complete_journey_categories
from habitprint.datasets.country import CountryModel
from habitprint.datasets.d4d import (
    d4d_antennas,
    d4d_calls,
    d4d_nearest_sub_prefectures,
    d4d_sub_prefecture_calls,
    d4d_sub_prefectures,
)
from habitprint.datasets.geolife import BEIJING, geolife, geolife_shared_files
from habitprint.datasets.illustration import illustration
from habitprint.datasets.town import AUDIT_OF_TOWN, town
from habitprint.datasets.tracks import read_tracks
from habitprint.datasets.web_history import web_history
from habitprint.datasets.web_twin import WebModel, WebTwin, web_twin

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
