"""Licences of the installed packages: the client installs httpx and its dependencies, all others are tools."""

import importlib.metadata
import re
import unittest

PERMISSIVE = re.compile(r"MIT|BSD|Apache|ISC|PSF|Python Software Foundation|0BSD|CC0|Zlib|Unlicense")

#: Packages with another licence, with the reason why they are accepted.
ACCEPTED = {
    "certifi": "MPL-2.0, unchanged: the list of certificates that httpx reads",
    "pathspec": "MPL-2.0, unchanged: a tool of the generator",
}


def licence_of(package: importlib.metadata.PackageMetadata) -> str:
    """Return the licence expression of a package, or the names of its licence classifiers."""
    classifiers = [text for text in package.get_all("Classifier") or [] if text.startswith("License")]
    return " ".join([package.get("License-Expression") or "", *classifiers]).strip() or package.get("License") or ""


class Licences(unittest.TestCase):
    def test_are_permissive_except_the_named_ones(self) -> None:
        packages = {found.name: licence_of(found.metadata) for found in importlib.metadata.distributions()}
        self.assertGreater(len(packages), 30)
        others = {name: licence for name, licence in packages.items() if not PERMISSIVE.search(licence)}
        self.assertEqual(sorted(others), sorted(ACCEPTED), others)


if __name__ == "__main__":
    unittest.main()
