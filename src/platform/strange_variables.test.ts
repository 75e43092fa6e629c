import { expect, test } from "vitest";
import { strangeVariables } from "./strange_variables.ts";

test("misspelt settings are found; settings, the command line's variables and links of Services are not", () => {
  expect(strangeVariables({
    PATH: "/bin",
    SLUICE_SHARDS: "8",
    SLUICE_TOKEN: "secret",
    SLUICE_ARCHIVE_RETENTON: "30d",
    SLUICE_SERVICE_HOST: "10.0.0.1",
    SLUICE_PORT: "tcp://10.0.0.1:2746",
    SLUICE_PORT_2746_TCP_ADDR: "10.0.0.1",
    SLUICE_BLUE_SERVICE_PORT_HTTP: "2746",
    SLUICE_BLUE_PORT: "tcp://10.0.0.1:2746",
    SLUICE_CHILD: "1",
    SLUICE_ACCES_FILE: "x",
  })).toEqual(["SLUICE_ACCES_FILE", "SLUICE_ARCHIVE_RETENTON"]);
});
