"""Room 7: what was measured, kept.

One folder per campaign, one file per rung, each written whole or not at all.

<root>/<campaign id>/
    campaign.json               the head: plan, host, settings (never a password)
    climbs/<configuration id>.json       why a climb ended, without its rungs
    conditions/<order key>.json the consistency conditions after the final run whose last rung has
                                this key
    rungs/<order key>.json      one rung; written last, so its series and seconds are complete
    series/<order key>.parquet  at_s, quantity, source, unit, value
    seconds/<order key>.parquet one row per second and transaction, with its histogram
    finished.json               once everything is measured; the exit state
    schema/<kind>.json          the JSON Schema of each of these documents
    lock                        locked while a kneebench writes here
"""

from kneebench.results.campaign_differences import comparable as comparable
from kneebench.results.campaign_differences import differences as differences
from kneebench.results.campaign_differences import incomparable as incomparable
from kneebench.results.campaign_reader import Listed as Listed
from kneebench.results.campaign_reader import campaigns as campaigns
from kneebench.results.campaign_reader import load as load
from kneebench.results.compare_plans import compare_plans as compare_plans
from kneebench.results.cross_campaign import CampaignRow as CampaignRow
from kneebench.results.cross_campaign import compare_campaigns as compare_campaigns
from kneebench.results.store import Store as Store
