"""The kinds of diagnostics that several rules share, a class of two to four lines each.

Each class line has the code, how bad it is, and the page that says so; the docstring is the reason;
the fields fill its sentence in `locales/`. A kind that one rule alone finds stands beside its rule.
"""
