// A source on a page of its own: shows the marked words.

import { showMarked } from "./panel.js";

showMarked(document);
