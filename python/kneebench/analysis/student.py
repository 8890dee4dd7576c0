"""Student's t."""

from __future__ import annotations


def student_t(freedom: float, level: float = 0.975) -> float:
    """The quantile of a level; that of a 95% interval unless another is asked for.

    scipy is imported where it is first used, as it takes long.

    >>> round(student_t(2), 3), round(student_t(3, 0.95), 3)
    (4.303, 2.353)
    """
    from scipy.special import stdtrit

    return float(stdtrit(freedom, level))
