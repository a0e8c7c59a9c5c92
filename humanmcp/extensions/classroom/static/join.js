// The door of a room: who has a seat here is led back to it.

import { findBack, forget } from "../loginpath.js";

if (location.hash === "#leave") forget(); // somebody else joins with this browser
else findBack("/");
