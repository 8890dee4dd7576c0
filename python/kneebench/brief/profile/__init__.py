"""The page of a drive's profile, with the sections, charts and style of a brief."""

from kneebench.brief.profile.page import ProfilePage as ProfilePage
from kneebench.brief.profile.together import TogetherPage as TogetherPage
