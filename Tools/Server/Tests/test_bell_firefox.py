"""The bell's flows in Firefox."""

import unittest

import pytest

import test_bell
import test_bell_looks
import test_bell_offline
from firefox import FirefoxCase

pytestmark = pytest.mark.nightly


class FirefoxBellTest(FirefoxCase, test_bell.BellTest):
    pass


class FirefoxCountsTest(FirefoxCase, test_bell.CountsTest):
    # It has no way to cut a page off; the restarts of the server in the flows do the same to it.
    test_a_page_that_was_offline_catches_up = None


class FirefoxTabsTest(FirefoxCase, test_bell.TabsTest):
    pass


class FirefoxItemTest(FirefoxCase, test_bell_looks.ItemTest):
    pass


class FirefoxStateTest(FirefoxCase, test_bell_looks.StateTest):
    pass


class FirefoxMarkAllTest(FirefoxCase, test_bell_looks.MarkAllTest):
    pass


class FirefoxLanguagesTest(FirefoxCase, test_bell_looks.LanguagesTest):
    # It has no way to keep one file away.
    test_a_language_whose_file_does_not_come_is_english = None


class FirefoxSettingsTest(FirefoxCase, test_bell_looks.SettingsTest):
    pass


class FirefoxOfflineTest(FirefoxCase, test_bell_offline.OfflineTest):
    # Another browser's process is none to kill here.
    test_random_marks_in_three_tabs_and_on_a_device_lose_and_double_nothing_when_browser_and_server_are_killed = None


if __name__ == "__main__":
    unittest.main()
