"""Settings of all tests."""

from hypothesis import settings

# No test depends on how fast the machine is, or on the day.
settings.register_profile("habitprint", deadline=None, derandomize=True)
settings.load_profile("habitprint")
