"""What the tests of the tap share with those of the desk and of the configurations of hosts."""

from tests.desk.conftest import desk, desking
from tests.setup.conftest import _no_variables, installation, run

__all__ = ["_no_variables", "desk", "desking", "installation", "run"]
