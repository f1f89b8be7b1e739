// The suite of tests/web: see ../http/suite.mjs.
import { suite } from "../http/suite.mjs";
import { closeBrowser } from "./browser.mjs";

await suite(import.meta.url, closeBrowser);
