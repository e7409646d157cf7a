"""The collector's pages, for people: *participate* and *study* (docs/pages.md).

    assets    scripts, the sheet and the client's bundle, under a name that is their hash
    headers   what a browser may do with a page: next to nothing
    views     what the templates (coterie/show/templates) are given
    routes    the addresses

*participate* is a form from the plan's schema, and the report is made in the browser, by `clients/web`;
*study* tells how far a study is and, once it is decoded, its groups. No page asks anybody but this server for
anything, runs a script that stands in it, or sets a cookie. Text of a plan comes from outside: templates
escape it, and scripts set it as text.
"""
