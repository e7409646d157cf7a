"""Results in words and pictures, for people: one page for the demo, a study and one's own results.

    told        what a result tells, read off its document, and which of its groups
    words       a group's name, its figures and intervals, as one would say them
    cards       a group's card: curves of cycles, bars, strips of figures
    expected    what to expect of a plan
    picture     groups in the plane
    choices     what other numbers of groups would explain
    results     all of that together, as the templates want it; `result_page`
    pages       templates (Jinja2) and the sheet: light, dark, paper, 360 pixels and wide
    people      the simulated people of both demos

Everything here is made of public results. Names, units and descriptions come from a plan, so from outside:
Python says what stands where, templates write HTML and SVG, and whatever goes into them is escaped there.
"""
