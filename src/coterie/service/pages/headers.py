"""What a browser may do with a page: run and load what this server has, send to this server, nothing else."""

from __future__ import annotations

from typing import Final

CONTENT_SECURITY_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",  # the form is read by the script and never submitted
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",  # text of a plan cannot become markup, whatever a script does
        "trusted-types 'none'",
    )
)

SECURE: Final = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "browsing-topics=(), camera=(), geolocation=(), microphone=()",
}
PAGE: Final = {**SECURE, "cache-control": "no-store"}  # a page says in which study somebody took part
ASSET: Final = {**SECURE, "cache-control": "public, max-age=31536000, immutable"}
