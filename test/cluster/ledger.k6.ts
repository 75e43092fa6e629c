// deno-lint-ignore-file no-console -- what k6 has for telling anything
/**
 * k6: posts each number once, at a constant rate, for DURATION. A number without a good answer is sent again under the
 * same Idempotency-Key until it gets one. Variables: BASE, NAMESPACE, TOKEN, RATE, DURATION, OFFSET (first number).
 * Each number that needed more than one attempt is printed to the console.
 */
import exec from "k6/execution";
import http from "k6/http";
import { sleep } from "k6";
import { Counter } from "k6/metrics";

const accepted = new Counter("ledger_accepted");
const repeated = new Counter("ledger_repeated");
const lost = new Counter("ledger_lost");
const MOST_ATTEMPTS = 60;

export const options = {
  scenarios: {
    events: {
      executor: "constant-arrival-rate",
      rate: Number(__ENV.RATE ?? 30),
      timeUnit: "1s",
      duration: __ENV.DURATION ?? "60s",
      preAllocatedVUs: 50,
      maxVUs: 200,
      gracefulStop: "60s",
    },
  },
  summaryTrendStats: ["med", "p(99)", "max"],
  thresholds: { ledger_lost: ["count==0"] },
};

export default function (): void {
  const n = Number(__ENV.OFFSET ?? 0) + exec.scenario.iterationInTest;
  for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
    const { status } = http.post(
      `${__ENV.BASE}/api/v1/events/${__ENV.NAMESPACE}/ledger`,
      JSON.stringify({ n: String(n) }),
      {
        headers: {
          "Content-Type": "application/json",
          Authorization: `Bearer ${__ENV.TOKEN}`,
          "Idempotency-Key": `${__ENV.NAMESPACE}-${n}`,
        },
        timeout: "10s",
      },
    );
    if (status === 200) {
      accepted.add(1);
      if (attempt > 1) repeated.add(1);
      return;
    }
    console.log(`${n} attempt ${attempt}: ${status}`);
    sleep(0.5);
  }
  lost.add(1);
}
