"""The page of a drive's profile, with the sections, charts and style of a brief."""

from kneebench.brief.profile.page import ProfilePage as ProfilePage
