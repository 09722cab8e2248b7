"""The bell's flows in Firefox."""

import unittest

import pytest

import test_bell
from firefox import FirefoxCase

pytestmark = pytest.mark.nightly


class FirefoxBellTest(FirefoxCase, test_bell.BellTest):
    pass


class FirefoxCountsTest(FirefoxCase, test_bell.CountsTest):
    # It has no way to cut a page off; the restarts of the server in the flows do the same to it.
    test_a_page_that_was_offline_catches_up = None


class FirefoxTabsTest(FirefoxCase, test_bell.TabsTest):
    pass


if __name__ == "__main__":
    unittest.main()
