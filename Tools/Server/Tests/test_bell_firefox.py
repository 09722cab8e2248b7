"""The bell's flows in Firefox."""

import unittest

import pytest

import test_bell
import test_bell_life
import test_bell_looks
import test_bell_offline
import test_bell_system
from firefox import Firefox, FirefoxCase, missing

pytestmark = pytest.mark.nightly


class FirefoxBellTest(FirefoxCase, test_bell.BellTest):
    pass


class FirefoxCountsTest(FirefoxCase, test_bell.CountsTest):
    pass


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
    pass


@unittest.skipIf(missing(), missing() or "")
class FirefoxLifeTest(test_bell_life.LifeCase, unittest.TestCase):
    browser_type = Firefox


class FirefoxSystemTest(FirefoxCase, test_bell_system.SystemTest):
    # It brings each tab that is looked at in front.
    test_another_tab_goes_on_when_the_one_that_showed_them_is_closed = None
    # As a browser that allows them; this one has them turned off.
    ALLOWED = "window.Notification = class { static permission = 'granted'; static async requestPermission() { return 'granted' } close() {} };"

    def grant(self):
        self.before(self.ALLOWED + test_bell_system.TOLD % "")

    def reset(self):
        pass

    def prepare(self):
        """Its scripts run in every tab."""


if __name__ == "__main__":
    unittest.main()
