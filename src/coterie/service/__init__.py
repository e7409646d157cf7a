"""The collector as a service: what speaks HTTP (docs/collector.md).

    server     starts uvicorn, holds connections to their limits
    app        the ASGI application: the fast path for reports, routes for everything else
    taking     what both roles have around one store: reports come in, studies are looked after
    collector  the one role: batches in, studies decoded, documents out
    endpoints  everything but the fast path
    console    what an operator is told of every study, and what to do next
    uploads    reports and withdrawals, from the body of a request to the answer
    writer     the one place where reports go to the store, everything that waits in one durable commit
    studies    plans as the service holds them in memory
    status     what an open study tells, coarsely
    ending     how a study ends: closed, one day deleted
    results    the collector's ending: decode in another process, table, result and manifest
    batches    of shuffle plans: taken in from shufflers, looked at, added up
    shuffler   the other role: mixes reports and hands batches to a collector
    releases   a batch from the shuffler's store to the collector's, once, whatever crashes
    upkeep     what happens by the clock: closing, compaction, retention

The service learns reports and ids. It writes no address, no user agent and no time of arrival anywhere.
Starlette, uvicorn and prometheus-client come with the extra `service`; `manifest` and `settings` do without.
The other side of the wire is the room `remote`.
"""
