"""Data sets: built-in examples, synthetic data, and loaders for the data that the paper used."""

from habitprint.datasets.real import complete_journey as complete_journey
from habitprint.datasets.real import complete_journey_categories as complete_journey_categories
from habitprint.datasets.real import d4d_antennas as d4d_antennas
from habitprint.datasets.real import d4d_calls as d4d_calls
from habitprint.datasets.real import d4d_nearest_sub_prefectures as d4d_nearest_sub_prefectures
from habitprint.datasets.real import d4d_sub_prefecture_calls as d4d_sub_prefecture_calls
from habitprint.datasets.real import d4d_sub_prefectures as d4d_sub_prefectures
from habitprint.datasets.real import web_history as web_history
from habitprint.datasets.synthetic import AUDIT_OF_TOWN as AUDIT_OF_TOWN
from habitprint.datasets.synthetic import CallsModel as CallsModel
from habitprint.datasets.synthetic import CallsTwin as CallsTwin
from habitprint.datasets.synthetic import CountryModel as CountryModel
from habitprint.datasets.synthetic import WebModel as WebModel
from habitprint.datasets.synthetic import WebTwin as WebTwin
from habitprint.datasets.synthetic import calls_twin as calls_twin
from habitprint.datasets.synthetic import illustration as illustration
from habitprint.datasets.synthetic import town as town
from habitprint.datasets.synthetic import web_twin as web_twin
from habitprint.datasets.tracks import BEIJING as BEIJING
from habitprint.datasets.tracks import geolife as geolife
from habitprint.datasets.tracks import geolife_shared_files as geolife_shared_files
from habitprint.datasets.tracks import read_tracks as read_tracks
