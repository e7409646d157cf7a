"""The collector's pages, for people: *participate* and *study* (docs/pages.md).

    assets        scripts, sheets and the client's bundle, under a name that is their hash
    headers       what a browser may do with a page: next to nothing
    participate   a form from the plan's schema; the report is made in the browser, by `clients/web`
    study         how far a study is
    groups        once decoded: its groups in words and pictures
    routes        the addresses

No page asks anybody but this server for anything, runs a script that stands in it, or sets a cookie. Text of
a plan comes from outside: it is escaped where a page is written, and set as text where a script shows it.
"""
