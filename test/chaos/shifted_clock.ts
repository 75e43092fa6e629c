/**
 * Loaded before a server: each SIGUSR2 sets its clock to the next of the shifts in SLUICE_CLOCK_SHIFTS (milliseconds,
 * comma-separated), as if somebody set the machine's clock. Monotonic time does not change.
 */
import process from "node:process";

const shifts = (process.env["SLUICE_CLOCK_SHIFTS"] ?? "").split(",").map(Number);
const RealDate = Date;
const realNow = Date.now;
let shift = 0;

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args) =>
    args.length === 0 ? new target(realNow() + shift) : Reflect.construct(target, args),
  apply: (target) => new target(realNow() + shift).toString(),
  get: (target, name) => name === "now" ? () => realNow() + shift : Reflect.get(target, name),
});

process.on("SIGUSR2", () => shift = shifts.shift() ?? 0);
