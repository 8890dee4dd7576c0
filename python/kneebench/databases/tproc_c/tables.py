"""The nine tables of TPROC-C."""

LARGEST_FIRST = (
    "order_line",
    "stock",
    "customer",
    "orders",
    "history",
    "new_order",
    "item",
    "district",
    "warehouse",
)
"""In the order of their bytes: what is started first ends first."""
