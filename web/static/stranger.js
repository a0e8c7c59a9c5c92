// Shown to who is not logged in at this address; perhaps they are at another.

import { findBack } from "./loginpath.js";

findBack();
