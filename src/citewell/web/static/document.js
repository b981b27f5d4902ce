// The page of a document: keys, the source panel, and how far reading has come.

import "./panel.js";
import { follow } from "./follow.js";

const status = document.querySelector("[data-follow]");
if (status) follow(status, () => location.reload());
