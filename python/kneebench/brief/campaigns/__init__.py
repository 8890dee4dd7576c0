"""The pages of `accept`, `compare`, `trend` and `what-if`: answers from finished campaigns, in the
style of a brief.
"""

from kneebench.brief.campaigns.acceptance_page import AcceptancePage as AcceptancePage
from kneebench.brief.campaigns.comparison_page import ComparisonPage as ComparisonPage
from kneebench.brief.campaigns.prediction_page import PredictionPage as PredictionPage
from kneebench.brief.campaigns.score_page import ScorePage as ScorePage
from kneebench.brief.campaigns.trend_page import TrendPage as TrendPage
