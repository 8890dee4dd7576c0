"""The pages of `accept`, `compare` and `trend`: answers over several campaigns, in the style of a
brief.
"""

from kneebench.brief.campaigns.acceptance_page import AcceptancePage as AcceptancePage
from kneebench.brief.campaigns.comparison_page import ComparisonPage as ComparisonPage
from kneebench.brief.campaigns.trend_page import TrendPage as TrendPage
