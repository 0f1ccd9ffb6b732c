"""Decision whether a request is sent again, and when."""

from dataclasses import dataclass
from datetime import timezone
from email.utils import parsedate_to_datetime

FIRST_DELAY = 0.25


@dataclass(frozen=True)
class RetryOptions:
    """Attempts of a request, and the longest wait between two attempts in s."""

    max_attempts: int = 5
    max_delay: float = 60.0


def retry_after_seconds(text: str | None, at: float) -> float | None:
    """Return the wait of a `Retry-After` header in s: seconds or a date. Returns None for another text."""
    if text is None:
        return None
    if text.isascii() and text.isdigit() and len(text) <= 9:
        return float(text)
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    return max(0.0, date.replace(tzinfo=date.tzinfo or timezone.utc).timestamp() - at)


def _can_retry(status: int | None, code: str | None, is_repeatable: bool) -> bool:
    if status in (429, 503) or code == "idempotency_in_progress":
        return True
    return is_repeatable and status in (None, 502, 504)


def retry_delay(
    status: int | None,
    code: str | None,
    retry_after: float | None,
    *,
    attempt: int,
    is_repeatable: bool,
    options: RetryOptions,
    chance: float,
) -> float | None:
    """Return the wait in s before the next attempt, or None if there is none.

    The service did not perform a request that it answered with 429 or 503. After a lost answer only a repeatable
    request is sent again: a second time must have the effect of one. `status` is None if no answer arrived.
    """
    if attempt >= options.max_attempts or not _can_retry(status, code, is_repeatable):
        return None
    if retry_after is not None:
        return None if retry_after > options.max_delay else retry_after
    ceiling = min(options.max_delay, FIRST_DELAY * 2 ** (attempt - 1))
    return ceiling / 2 + ceiling / 2 * chance
