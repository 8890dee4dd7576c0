"""The pages of `accept` and `compare`: answers over several campaigns, in the style of a brief."""

from kneebench.brief.campaigns.acceptance_page import AcceptancePage as AcceptancePage
from kneebench.brief.campaigns.comparison_page import ComparisonPage as ComparisonPage
