"""The served site can be installed: its manifest is read by the browser without complaint, and its icon is there."""

from __future__ import annotations

import json


def test_the_browser_accepts_the_manifest(lab) -> None:
    devtools = lab.page.context.new_cdp_session(lab.page)
    found = devtools.send("Page.getAppManifest")
    assert found["url"] == f"{lab.address}manifest.webmanifest"
    assert found["errors"] == []
    manifest = json.loads(found["data"])
    assert manifest["start_url"] == manifest["scope"] == "./"
    icon = lab.page.request.get(lab.address + manifest["icons"][0]["src"])
    assert icon.ok and icon.headers["content-type"].startswith("image/svg+xml")
    # A test's profile is a private window, and its service workers are off: only these two may stand in the way.
    errors = {
        item["errorId"] for item in devtools.send("Page.getInstallabilityErrors")["installabilityErrors"]
    }
    assert errors <= {"in-incognito", "not-offline-capable"}
    devtools.detach()


def test_the_single_file_asks_for_no_manifest(single_file) -> None:
    assert single_file.page.locator('link[rel="manifest"]').count() == 0
