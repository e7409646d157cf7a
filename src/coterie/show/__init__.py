"""Results in words and pictures, for people: what the demo's page and the collector's pages have in common.

    told      what a result tells, read off its document, and which of its groups
    words     a group's name, its figures and intervals, as one would say them
    cards     a group's card: curves of cycles, bars, strips of figures
    picture   groups in the plane
    choices   what other numbers of groups would explain
    people    the simulated people of both demos
    style     the sheet of both pages: light, dark, paper, 360 pixels and wide

Everything here is HTML and SVG as text, made of public results. Names, units and descriptions come from a
plan, so from outside: whatever of them goes into a page is escaped here.
"""
