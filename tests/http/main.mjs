// The suite of tests/http: see suite.mjs.
import { suite } from "./suite.mjs";

await suite(import.meta.url);
