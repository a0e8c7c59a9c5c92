"""What runs at each moment that an extension hears. All else of a fault is in `extensions`."""

from typing import Any


class ToldToStopError(SystemExit):
    """A signal stops this process, with the usual exit status for the signal."""


def guarded_call(own: Any, fails: Any, *, may_be_none: bool) -> Any:  # noqa: ANN401 - whatever is called
    """Call `own`. Where it raises, or returns nothing and should not, `fails` decides."""

    def heard(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - as above
        try:
            result = own(*given, **named)
        except ToldToStopError:
            raise  # it came from without, in the midst of a stranger's code
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a stranger's code: whatever is wrong
            return fails(error, *given, **named)
        return result if result is not None or may_be_none else fails(None, *given, **named)

    return heard
