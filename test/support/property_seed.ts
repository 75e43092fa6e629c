/**
 * Properties try the same values in every run, so that only a change can change the result. `SLUICE_PROPERTY_SEED=N` or
 * `SLUICE_PROPERTY_SEED=random` gives others.
 */
import process from "node:process";
import fc from "fast-check";

const wanted = process.env["SLUICE_PROPERTY_SEED"] ?? "14";
if (wanted !== "random") fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(wanted) });
